// A model file with other numbers: the text as it was, but for the numbers themselves. Comments, order,
// layout and units stay; "0.115 m" becomes "0.13 m". What is read back is the same number (to the last bit
// but one, where no decimal in that unit gives it).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tellegen/model/model.h"

namespace tellegen {

// Where [unknowns] says where a search or an estimator starts with one of the parameters (`start`), it starts
// from the new number; and with a standard deviation, where one is given (NaN: none), it is as uncertain as
// that.
//
// `text` is that of model.file. Parameters as study_parameter() counts them, numbers in SI. Throws ModelError
// (T149) where a number stands in another file, that of a subsystem.
std::string with_numbers(std::string_view text, const Model& model, std::span<const int> parameters,
                         std::span<const double> numbers, std::span<const double> deviations = {});

}  // namespace tellegen
