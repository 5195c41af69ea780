// A model for model exchange as C: what runtime/tellegen_exchange.h asks of fmu_model.h, and the functions.
#pragma once

#include <string>

#include "tellegen/deploy/exchange_model.h"

namespace tellegen {

std::string exchange_header(const ExchangeModel& exchange, const std::string& name);
std::string exchange_source(const ExchangeModel& exchange, const std::string& name);  // NAME_exchange.c

}  // namespace tellegen
