#include "tellegen/urdf/urdf.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/read.h"

namespace tellegen {
namespace urdf_test {

// Two links; the second joint stands a metre up, rolled by a quarter turn.
const std::string robot = R"(<?xml version="1.0"?>
<robot name="two links">
  <link name="base"/>
  <link name="upper arm">
    <inertial>
      <origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/>
    </inertial>
    <visual><geometry><mesh filename="arm.stl"/></geometry></visual>
  </link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper arm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="1"/><dynamics damping="0.5"/>
  </joint>
  <joint name="slide" type="prismatic">
    <origin xyz="0 0 1" rpy="1.5707963267948966 0.2 0.3"/>
    <parent link="upper arm"/><child link="hand"/><axis xyz="1 0 0"/>
  </joint>
</robot>
)";

Model read(const std::string& toml) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(toml, "robot.toml", options);
}

double value(const Model& model, const std::string& name) {
  ExprMap<double> at;
  for (const ModelParameter& p : model.parameters) at[p.symbol] = p.number;
  Expr formula = parse_value(model, name, {});
  formula = output_value(model, find_variable(model, name).value());
  for (Expr s : symbols_of(std::span(&formula, 1)))
    if (!at.contains(s)) at[s] = 0.0;  // coordinates
  return evaluate(formula, at);
}

TEST(Urdf, a_robot_becomes_a_model_with_its_frames_where_they_are) {
  const ConvertedRobot converted = convert_urdf_text(robot, "robot.urdf");
  const Model model = read(converted.toml);
  EXPECT_EQ(model.name, "two links");
  EXPECT_NEAR(value(model, "hand.z"), 1.0, 1e-15);
  // Rz(0.3) Ry(0.2) Rx(pi/2): its first column, and the last row's last element cos(0.2) cos(pi/2).
  EXPECT_NEAR(value(model, "hand.r11"), std::cos(0.3) * std::cos(0.2), 1e-14);
  EXPECT_NEAR(value(model, "hand.r31"), -std::sin(0.2), 1e-14);
  EXPECT_NEAR(value(model, "hand.r33"), 0.0, 1e-14);
  EXPECT_NEAR(value(model, "hand.r32"), std::cos(0.2), 1e-14);
  // The inertia of the arm is turned by a quarter about z: its x and y change places.
  EXPECT_NE(converted.toml.find("inertia = [0.2, 0.1"), std::string::npos) << converted.toml;
  EXPECT_NE(converted.toml.find("damping = 0.5"), std::string::npos);
}

TEST(Urdf, what_is_left_out_is_reported) {
  const ConvertedRobot converted = convert_urdf_text(robot, "robot.urdf");
  ASSERT_EQ(converted.notes.size(), 2u);
  EXPECT_EQ(converted.notes[0], "robot.urdf: note: <limit> left out");
  EXPECT_EQ(converted.notes[1], "robot.urdf: note: <visual> left out");
}

std::string fault_of(std::string text) {
  try {
    convert_urdf_text(text, "robot.urdf");
  } catch (const ModelError& error) {
    const Fault& fault = error.faults().front();
    return fault.code + " " + std::to_string(fault.place.line) + " " + fault.message;
  }
  return "";
}

TEST(Urdf, wrong_robots_are_explained_by_line) {
  const auto with = [](const std::string& old, const std::string& now) {
    std::string text = robot;
    return text.replace(text.find(old), old.size(), now);
  };
  EXPECT_EQ(fault_of("<model/>"), "T196 1 the file has no <robot>");
  EXPECT_EQ(fault_of(with("child link=\"hand\"", "child link=\"hond\"")),
            "T196 17 <child> of joint 'slide' is 'hond', which is not a link");
  EXPECT_EQ(fault_of(with("type=\"prismatic\"", "type=\"sliding\"")),
            "T196 17 joint 'slide' is of type 'sliding'");
  EXPECT_EQ(fault_of(with("mass value=\"2\"", "mass value=\"heavy\"")),
            "T196 7 'value' of <mass> is 'heavy', which is not a number");
  EXPECT_EQ(fault_of(with("xyz=\"0 0 1\"/><limit", "xyz=\"0 1\"/><limit")),
            "T196 15 'xyz' of <axis> is '0 1', which is not three numbers");
  EXPECT_EQ(fault_of(with("</robot>", "")).substr(0, 4), "T196");
}

// A gripper: the right finger goes where the left one goes, 5 mm farther.
TEST(Urdf, a_joint_that_mimics_another_is_a_gear) {
  const auto gripper = [](const std::string& followed) {
    return R"(<robot name="gripper">
  <link name="palm"/>
  <link name="left"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="right joint" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
    <mimic joint=")" +
           followed +
           R"(" multiplier="2" offset="0.005"/></joint>
  <joint name="left joint" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/></joint>
</robot>)";
  };
  const ConvertedRobot converted = convert_urdf_text(gripper("left joint"), "gripper.urdf");
  EXPECT_NE(
      converted.toml.find("right_joint_mimic = { kind = \"multibody.gear\", first = \"right_joint\", second "
                          "= \"left_joint\", ratio = 2, offset = 0.005 }"),
      std::string::npos)
      << converted.toml;
  EXPECT_TRUE(converted.notes.empty());
  read(converted.toml);
  try {
    convert_urdf_text(gripper("thumb"), "gripper.urdf");
    FAIL() << "no fault";
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].message, "joint 'right joint' mimics 'thumb', which is not a joint");
  }
}

TEST(Urdf, a_xacro_file_is_said_to_be_one) {
  try {
    convert_urdf_text(
        "<robot name=\"r\" xmlns:xacro=\"x\">\n<xacro:property name=\"a\" value=\"1\"/></robot>", "r.xacro");
    FAIL() << "no fault";
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].place.line, 2);
    EXPECT_NE(error.faults()[0].message.find("this is a xacro file"), std::string::npos);
  }
}

}  // namespace urdf_test
}  // namespace tellegen
