// The section `inverter` of `tellegen benchmark machines`: models/pmsm-inverter against ngspice.
#pragma once

namespace tellegen {

class Report;
void run_inverter(Report& report, bool quick);

}  // namespace tellegen
