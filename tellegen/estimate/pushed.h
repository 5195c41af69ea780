// What became of a row that a twin was given.
#pragma once

namespace tellegen {

enum class Pushed {
  taken,      // newer than all before
  late,       // put in where it belongs
  duplicate,  // nothing in it that was not known
  too_late,
  beside,  // its time is on no step
  failed   // the twin's failure() says why; nothing more is taken
};

}  // namespace tellegen
