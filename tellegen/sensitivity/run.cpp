#include "tellegen/sensitivity/run.h"
