#include <gtest/gtest.h>

#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace hdf5_test {

TEST(Hdf5, ReadsBackWhatWasWritten) {
  TestFolder folder;
  const Trajectory written{{"n2.T", "µ/x"}, {"K", "Ω"}, {0, 0.1, 0.2}, {1, 2, 3, 4, 5, 6}};
  write_hdf5(folder / "a.h5", written);
  const Trajectory back = read_hdf5(folder / "a.h5");
  EXPECT_EQ(back.names, written.names);
  EXPECT_EQ(back.units, written.units);
  EXPECT_EQ(back.t, written.t);
  EXPECT_EQ(back.values, written.values);
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Hdf5, ATrajectoryWithoutRowsOrColumnsIsAFileToo) {
  TestFolder folder;
  write_hdf5(folder / "a.h5", {});
  EXPECT_EQ(read_hdf5(folder / "a.h5").rows(), 0u);
  EXPECT_EQ(read_hdf5(folder / "a.h5").columns(), 0u);
}

TEST(Hdf5, OverwritesAnOlderFileWhole) {
  TestFolder folder;
  write_hdf5(folder / "a.h5", {{"old"}, {"V"}, {0, 1}, {1, 2}});
  write_hdf5(folder / "a.h5", {{"new"}, {}, {0}, {7}});
  const Trajectory back = read_hdf5(folder / "a.h5");
  EXPECT_EQ(back.names, std::vector<std::string>{"new"});
  EXPECT_EQ(back.units, std::vector<std::string>{""});
  EXPECT_EQ(back.values, std::vector<double>{7});
}

TEST(Hdf5, SaysWhichFileIsNotATrajectory) {
  TestFolder folder;
  put(folder / "a.h5", "t,a\n");
  const std::string message = message_of([&] { read_hdf5(folder / "a.h5"); });
  EXPECT_NE(message.find("a.h5': not a trajectory in HDF5"), std::string::npos) << message;
  EXPECT_NE(message_of([&] { write_hdf5(folder / "none/a.h5", {}); }), "");
}

}  // namespace hdf5_test
}  // namespace tellegen
