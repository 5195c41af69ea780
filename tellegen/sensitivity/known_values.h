// Equations in unknown parameters alone: every other parameter a number, what follows from unknown ones its
// formula, inputs what the model says of them.
#pragma once

#include "tellegen/equations/symbolic_model.h"
#include "tellegen/model/model.h"

namespace tellegen {

class KnownValues {
 public:
  // `unknown`: symbols that stay as they are, parameters or inputs.
  KnownValues(const Model& model, const SymbolicModel& symbolic, const ExprMap<int>& unknown);
  Expr put_into(Expr e) const;

 private:
  ExprMap<Expr> values_;
};

}  // namespace tellegen
