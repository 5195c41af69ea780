#include "tests/program.h"

namespace tellegen {

const char* const tested_program = TELLEGEN_PROGRAM;
const char* const rc_drive_program = RC_DRIVE;

}  // namespace tellegen
