// The fixed-interval smoother of [Rauch, Tung, Striebel 1965]: what each state was, with the readings that
// came after it too.
#pragma once

#include <vector>

#include "tellegen/estimate/filter.h"

namespace tellegen {

class Smoother {
 public:
  // After the step to a row, from 1 on: the belief after the correction before it, the transition to it, the
  // belief predicted for it. A row that is taken again replaces what was kept.
  void keep(std::size_t row, const Belief& corrected, const Matrix& transition, const Belief& predicted);
  // From the belief after the last correction of all, backwards; `each` is told every row but the last,
  // latest first.
  template <class Each>
  void run(Belief last, const Each& each) const {
    for (std::size_t row = steps_.size(); row-- > 0;) {
      back(steps_[row], last);
      each(row, last);
    }
  }

 private:
  struct Step {
    Belief corrected, predicted;
    Matrix transition;
  };
  static void back(const Step& step, Belief& smooth);
  std::vector<Step> steps_;
};

}  // namespace tellegen
