// From the text of a netlist to that of the model file, and the faults on the way.
#include "tellegen/netlist/netlist.h"

#include <filesystem>
#include <fstream>

#include "tellegen/netlist/test_netlist.h"

namespace tellegen {
namespace netlist_test {

std::string component(const std::string& lines, const std::string& name) {
  return line_of(converted(lines).toml, name);
}

TEST(Netlist, PassiveElementsBecomeComponents) {
  const std::string text = "R1 a 0 4.7k\nL1 a B 1m\nC1 b gnd 10u\n.tran 1u 1m\n";
  EXPECT_EQ(component(text, "r1"),
            R"(r1 = { kind = "electrical.resistor", p = "a", n = "datum", R = 4700 })");
  EXPECT_EQ(component(text, "l1"), R"(l1 = { kind = "electrical.inductor", p = "a", n = "b", L = 0.001 })");
  EXPECT_EQ(component(text, "c1"),
            R"(c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = 1e-05 })");
}

TEST(Netlist, PairsOfNodesMayStandInBrackets) {
  for (const char* line : {"E1 (b 0) (a 0) 10", "E1 b 0 (a 0) 10", "E1 (b 0) a 0 10"})
    EXPECT_EQ(component(std::string("V1 a 0 1\nR1 b 0 1\n") + line, "e1"),
              component("V1 a 0 1\nR1 b 0 1\nE1 b 0 a 0 10", "e1"))
        << line;
}

// A junction too: with the voltage between its terminals, however it is turned, unless ic= says another.
TEST(Netlist, JunctionsBeginWithUicWhereTheirNodesDo) {
  const std::string lines =
      "c1 k 0 100p\nd1 0 k dd\nd2 0 k dd ic=-3\nj1 k g 0 jj\nr1 g 0 1k\n.ic v(k)=10 v(g)=1\n"
      ".model dd d(rs=0.1 cjo=100p)\n.model jj njf(cgs=1p cgd=1p)\n.tran 5n 100n uic";
  const std::string text = converted(lines).toml;
  for (const char* start : {"\"d1.v\" = -10", "\"d2.v\" = -3", "\"j1.gs.v\" = 1", "\"j1.gd.v\" = -9"})
    EXPECT_NE(text.find(start), std::string::npos) << start;
}

TEST(Netlist, StorageBeginsSteadyOrWithUicWhereItIsTold) {
  const std::string lines = "C1 a 0 1u ic=2\nL1 a 0 1m ic=3\nC2 a b 1u\nR1 b 0 1\n.ic v(a)=5 v(b)=1\n";
  const ConvertedNetlist without = converted(lines + ".tran 1u 1m"),
                         with = converted(lines + ".tran 1u 1m uic");
  EXPECT_NE(without.toml.find("\"c1.v\" = \"steady\"\n\"l1.i\" = \"steady\""), std::string::npos);
  EXPECT_NE(without.toml.find("\"a.v\" = 5\n\"b.v\" = 1"), std::string::npos);
  EXPECT_EQ(without.notes.size(), 2u);
  EXPECT_NE(line_of(with.toml, "c1").find("v0 = 2"), std::string::npos);
  EXPECT_NE(line_of(with.toml, "l1").find("i0 = 3"), std::string::npos);
  EXPECT_NE(line_of(with.toml, "c2").find("v0 = 4"), std::string::npos);
  EXPECT_EQ(with.toml.find("[initial]"), std::string::npos);
}

TEST(Netlist, SourcesHaveTheWaveformsOfSpice) {
  EXPECT_EQ(component("V1 a 0 5\nR1 a 0 1", "v1"),
            R"(v1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 5 })");
  EXPECT_EQ(component("V1 a 0 dc 3 ac 1 0\nR1 a 0 1", "v1"),
            R"(v1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 3 })");
  EXPECT_EQ(
      component("I1 a 0 SIN(1 2 50 1m 3 90)\nR1 a 0 1", "i1"),
      R"(i1 = { kind = "electrical.sine_current", p = "a", n = "datum", offset = 1, amplitude = 2, frequency = 50, delay = 0.001, damping = 3, phase = "90*pi/180" })");
  EXPECT_EQ(
      component("V1 a 0 5 PULSE 0 5 1u\nR1 a 0 1\n.tran 10n 1u", "v1"),
      R"(v1 = { kind = "electrical.pulse_voltage", p = "a", n = "datum", low = 0, high = 5, delay = 1e-06, rise = 1e-08, fall = 1e-08 })");
  EXPECT_EQ(
      component("V1 a 0 DC PULSE 0 5 1u\nR1 a 0 1\n.tran 10n 1u", "v1"),
      R"(v1 = { kind = "electrical.pulse_voltage", p = "a", n = "datum", low = 0, high = 5, delay = 1e-06, rise = 1e-08, fall = 1e-08 })");
  EXPECT_EQ(
      component("V1 a 0 PWL(0,0 1m,5)\nR1 a 0 1", "v1"),
      R"(v1 = { kind = "electrical.pwl_voltage", p = "a", n = "datum", points = [[0, 0], [0.001, 5]] })");
}

TEST(Netlist, ResistancesWithinSourcesAndWindings) {
  const std::string source = converted("V1 a 0 PULSE(0 5 1u) Rser = 1m cpar=1n\nR1 a 0 1\n.tran 10n 1u").toml;
  EXPECT_NE(line_of(source, "v1").find(R"(p = "v1_inner")"), std::string::npos) << source;
  EXPECT_NE(line_of(source, "v1_rser").find(R"(p = "a", n = "v1_inner", R = 0.001)"), std::string::npos);
  EXPECT_NE(line_of(source, "v1_cpar").find(R"(p = "a", n = "datum", C = 1e-09)"), std::string::npos);
  for (const char* k : {"0.9", "1"}) {
    const std::string windings = converted(std::string("V1 a 0 1\nL1 a 0 1m rser=2\nL2 b 0 1m rser=3\n"
                                                       "R1 b 0 1\nK1 L1 L2 ") +
                                           k + "\n")
                                     .toml;
    EXPECT_NE(line_of(windings, "l1_rser").find(R"(p = "a", n = "l1_inner", R = 2)"), std::string::npos);
    EXPECT_NE(line_of(windings, "l2_rser").find(R"(p = "b", n = "l2_inner", R = 3)"), std::string::npos);
  }
  EXPECT_NE(component("V1 a 0 1\nR1 a 0 R = (1k * 2)\n", "r1").find("R = 2000"), std::string::npos);
}

TEST(Netlist, ANegativeHysteresisIsASmoothSwitch) {
  EXPECT_EQ(
      component("V1 c 0 1\nV2 a 0 1\nS1 a 0 c 0 m\n.model m sw(ron=0.1 roff=1meg vt=1 vh=-0.5)\n", "s1"),
      R"(s1 = { kind = "electrical.smooth_switch", p = "a", n = "datum", cp = "c", cn = "datum", Ron = 0.1, Roff = 1000000, Von = 1.5, Voff = 0.5 })");
}

TEST(Netlist, AWaveformInBrackets) {
  EXPECT_EQ(
      component("V1 a 0 0.0V (PULSE 0 5 1u 1n 1n 2u 4u)\nR1 a 0 1", "v1"),
      R"(v1 = { kind = "electrical.pulse_voltage", p = "a", n = "datum", low = 0, high = 5, delay = 1e-06, rise = 1e-09, fall = 1e-09, width = 2e-06, period = 4e-06 })");
}

TEST(Netlist, ParametersOfTheNetlistStayNamesThoseOfSubcircuitsAreWrittenIn) {
  const std::string lines =
      ".param R0=1k double={2*r0}\n.subckt s a r=5 c={r*2}\nR1 a 0 {r+double}\nR2 a 0 {c}\n.ends\nX1 n s "
      "r=r0\nX2 n s\n";
  const std::string toml = converted(lines).toml;
  EXPECT_NE(toml.find("[parameters]\nr0 = 1000\ndouble = \"2*r0\""), std::string::npos) << toml;
  EXPECT_NE(line_of(toml, "x1_r1").find("R = \"r0 + double\""), std::string::npos);
  EXPECT_NE(line_of(toml, "x1_r2").find("R = \"r0*2\""), std::string::npos);
  EXPECT_NE(line_of(toml, "x2_r1").find("R = \"5 + double\""), std::string::npos);
  EXPECT_NE(line_of(toml, "x2_r2").find("R = 10"), std::string::npos);
}

TEST(Netlist, NamesBecomeIdentifiersThatDoNotMeet) {
  const std::string toml =
      converted("V1 1 0 1\nR1 1 t 1\nRa.b t c1 1\nC1 c1 r1 1n\nR2 r1 n1 1\nR3 n1 0 1\n").toml;
  EXPECT_NE(line_of(toml, "v1").find("p = \"n1\""), std::string::npos) << toml;
  EXPECT_NE(line_of(toml, "r1").find("n = \"t_\""), std::string::npos) << toml;
  EXPECT_NE(line_of(toml, "ra_b").find("n = \"c1_2\""), std::string::npos) << toml;
  EXPECT_NE(line_of(toml, "c1").find("n = \"r1_2\""), std::string::npos) << toml;
  EXPECT_NE(line_of(toml, "r3").find("p = \"n1_2\""), std::string::npos) << toml;
  EXPECT_NE(toml.find("\"V(1)\" = \"n1.v\""), std::string::npos);
  EXPECT_NE(toml.find("\"V(n1)\" = \"n1_2.v\""), std::string::npos);
  EXPECT_NE(toml.find("\"I(ra.b)\" = \"ra_b.i\""), std::string::npos);
}

TEST(Netlist, ControlledSourcesUseFormulas) {
  const std::string lines =
      "V1 a 0 1\nR1 a b 1\nR2 b 0 1\nE1 e 0 a b 2\nF1 f 0 v1 3\nH1 h 0 poly(1) v1 1 2\nB1 g 0 i = v(a)*2 + "
      "i(v1)\n"
      "E2 k 0 poly(2) a 0 b 0 1 2 3 4 5 6\nRE e 0 1\nRF f 0 1\nRH h 0 1\nRG g 0 1\nRK k 0 1\n";
  EXPECT_EQ(component(lines, "e1"),
            R"(e1 = { kind = "electrical.vcvs", p = "e", n = "datum", cp = "a", cn = "b", A = 2 })");
  EXPECT_NE(component(lines, "f1").find(R"(I = "3*v1.i")"), std::string::npos);
  EXPECT_NE(component(lines, "h1").find(R"(V = "1 + 2*v1.i")"), std::string::npos);
  EXPECT_NE(component(lines, "b1").find(R"(I = "a.v*2 + v1.i")"), std::string::npos);
  EXPECT_NE(component(lines, "e2").find(R"(V = "1 + 2*a.v + 3*b.v + 4*a.v*a.v + 5*a.v*b.v + 6*b.v*b.v")"),
            std::string::npos);
}

TEST(Netlist, CoupledInductorsAreOneComponent) {
  const std::string toml =
      converted(
          "V1 a 0 1\nL1 a 0 1m\nL2 b 0 4m\nK1 L1 L2 0.5\nR1 b 0 1\nH1 c 0 v1 1\nB1 d 0 v=i(l2)\nR2 c d 1\n")
          .toml;
  EXPECT_EQ(
      line_of(toml, "k1"),
      R"(k1 = { kind = "electrical.coupled_inductors", p1 = "a", n1 = "datum", L1 = 0.001, p2 = "b", n2 = "datum", L2 = 0.004, k = 0.5 })");
  EXPECT_NE(toml.find("\"I(l2)\" = \"k1.secondary.i\""), std::string::npos);
  EXPECT_NE(line_of(toml, "b1").find("V = \"one*k1.secondary.i\""), std::string::npos);
  EXPECT_EQ(faults_of("L1 a 0 1\nL2 a 0 1\nL3 a 0 1\nL4 a 0 1\nK1 L1 L2 .1\nK2 L3 L2 .1\nK3 L4 L1 .1"),
            "none");
  // 1 and 2, 1 and 3 perfectly, but 2 and 3 not at all: that cannot be.
  EXPECT_EQ(faults_of("L1 a 0 1\nL2 a 0 1\nL3 a 0 1\nK1 L1 L2 1\nK2 L1 L3 1"), "T508:4");
}

TEST(Netlist, DevicesComeFromTheTableAndTheirResistancesStandApart) {
  const std::string toml = converted("V1 a 0 1\nD1 a 0 dm 2\n.model dm D(is=1e-12 rs=4 kf=1)\n").toml;
  EXPECT_EQ(line_of(toml, "d1_rp"),
            R"(d1_rp = { kind = "electrical.resistor", p = "a", n = "d1_p", R = 2 })");
  EXPECT_EQ(line_of(toml, "d1"),
            R"(d1 = { kind = "electrical.junction_diode", p = "d1_p", n = "datum", Is = 1e-12, area = 2 })");
}

// As in ngspice: from the collector of an npn and the base of a pnp, behind its resistance, to the fourth
// node or 0.
TEST(Netlist, TheSubstrateOfATransistorHasGmin) {
  const std::string models = ".model qn npn(rc=5)\n.model qp pnp()\nV1 a 0 1\n";
  EXPECT_EQ(component(models + "Q1 a b 0 qn m=2\n", "q1_substrate"),
            R"(q1_substrate = { kind = "electrical.resistor", p = "datum", n = "q1_c", R = 500000000000 })");
  EXPECT_EQ(component(models + "Q1 a b c s qp\n.options gmin=0.5\n", "q1_substrate"),
            R"(q1_substrate = { kind = "electrical.resistor", p = "s", n = "b", R = 2 })");
  EXPECT_EQ(component(models + "Q1 a 0 c qp\n", "q1_substrate"),
            "no line for q1_substrate");  // both ends at 0
}

TEST(Netlist, TranGivesTheTimes) {
  const std::string toml = converted("V1 a 0 1\nR1 a 0 1\n.tran 1u 1m 0 0.1u\n").toml;
  EXPECT_NE(toml.find("[simulation]\nstop = 0.001\nstep = 1e-07\nsample = 1e-06\n"), std::string::npos)
      << toml;
}

TEST(Netlist, WhatIsNotSupportedIsAFaultWithItsLine) {
  EXPECT_EQ(faults_of("R1 a 0 1\nU1 a b c jm\nZ1 a 0 b jm\n"), "T500:3 T500:4");
  EXPECT_EQ(faults_of("R1 a 0 1\nYadc one a 0 m\nYadc two a 0 m\n"), "T500:3 T500:4");
  EXPECT_EQ(faults_of("R1 a 0 1\nS1 a 0 m control={v(a)}\n.model m sw\n"), "T500:3");
  EXPECT_EQ(faults_of("R1 a 0 1\n.foo x"), "T501:3");
  EXPECT_EQ(faults_of("R1 a 0 1\nR2 a\nV1 a"), "T502:3 T502:4");
  EXPECT_EQ(faults_of("R1 a 0\nC1 a 0 1u 2u\nR2 a 0 1 x=3"), "T502:2 T502:3 T502:4");
  EXPECT_EQ(faults_of("D1 a 0 none\nD2 a 0 q\n.model q npn(bf=1)\n.model d d(ikr=1 zz=3)\nD3 a 0 d"),
            "T503:2 T503:3 T503:5");
  EXPECT_EQ(faults_of("X1 a none\nX2 a b s\n.subckt s a\nR1 a 0 1\n.ends\nX3 a s k=2"), "T504:2 T504:3");
  EXPECT_EQ(faults_of("R1 a 0 {1+}\nR2 a 0 {x}\nB1 a 0 v=v(nowhere)\nF1 a 0 v9 2"),
            "T505:2 T506:3 T506:4 T506:5");
  EXPECT_EQ(faults_of(".subckt s a\nX1 a s\n.ends\nX1 b s"), "T507:3");
  EXPECT_EQ(faults_of(".param a={b} b={a}\nR1 x 0 {a}\n"), "T507:2");
  EXPECT_EQ(faults_of("R1 a 0 1\nr1 a 0 2"), "T509:3");
  EXPECT_EQ(faults_of(".subckt s a\nR1 a 0 1\nX1 a 0 s"), "T504:2");
}

// Written out it would have 4^30 resistors: counted, not tried.
TEST(Netlist, ANetlistThatExplodesIsRefusedBeforeItIsWrittenOut) {
  std::string text = ".subckt s30 a b\nR1 a b 1\n.ends\n";
  for (int k = 0; k < 30; ++k) {
    text += ".subckt s" + std::to_string(k) + " a b\n";
    for (int x = 1; x <= 4; ++x) text += "X" + std::to_string(x) + " a b s" + std::to_string(k + 1) + "\n";
    text += ".ends\n";
  }
  EXPECT_EQ(faults_of(text + "X1 a 0 s0"), "T510:0");
}

TEST(Netlist, NothingIsPassedOverInSilence) {
  const auto notes =
      converted("V1 a 0 1 ac 1\nR1 a 0 1\n.print tran v(a)\n.ac dec 10 1 1k\n.options foo=3\n.tran 1u 1m")
          .notes;
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0], "test.cir:4: note: .print has no effect: every voltage and current is an output");
}

TEST(Netlist, AMethodOfSpiceLeavesTheStepVariable) {
  const ConvertedNetlist c = converted("V1 a 0 1\nR1 a 0 1\n.options method=gear\n.tran 1u 1m");
  EXPECT_NE(c.toml.find("method = \"adaptive\""), std::string::npos) << c.toml;
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_NE(c.notes[0].find("test.cir:4: note: method=gear was read"), std::string::npos) << c.notes[0];
}

TEST(Netlist, AModelThatIsNotUsedIsNoFault) {
  const std::string models = "R1 a 0 1\n.model irf vdmos vto=3 pchan rg=1\n.model q2 ako:q1 npn(bf=10)\n";
  EXPECT_EQ(faults_of(models), "none");
  EXPECT_EQ(faults_of(models + "D1 a 0 irf\n"), "T503:5");
}

TEST(Netlist, LinesBecomeTransmissionLines) {
  const std::string ends = "V1 a 0 1\nR1 b 0 50\n";
  EXPECT_EQ(
      component(ends + "T1 a 0 b 0 z0=50 td=1n\n", "t1"),
      R"(t1 = { kind = "electrical.transmission_line", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", Z0 = 50, TD = 1e-09 })");
  EXPECT_NE(component(ends + "T1 a 0 b 0 z0=75 f=50meg\n", "t1").find("TD = 5e-09"), std::string::npos);
  const std::string with = component(ends + "T1 a 0 b 0 z0=50 td=1n ic=1,0.02,0,0\n.tran 1n 9n uic\n", "t1");
  EXPECT_NE(with.find("at_rest = 0, to_b0 = 2, to_a0 = 0"), std::string::npos) << with;
  const std::string lossy = ends + "O1 a 0 b 0 m\n.model m ltra(len=2 c=2p ";
  EXPECT_NE(component(lossy + "l=5n)\n", "o1").find("Z0 = 50, TD = 2e-10"), std::string::npos);
  EXPECT_NE(converted(lossy + "l=5n r=1)\n").notes.at(0).find("a chain of 8 lossless lines"),
            std::string::npos);
  EXPECT_EQ(faults_of(lossy + "l=5n g=1)\n"), "T500:4");
  EXPECT_EQ(faults_of(ends + "O1 a 0 b 0 m\n.model m d(is=1f)\n"), "T503:4");
}

// SPICE 2, DOS and PSpice.
TEST(Netlist, OldFormsAreRead) {
  EXPECT_EQ(component("V1 a 0 dc(5)\nR1 a 0 1\n", "v1"), component("V1 a 0 dc 5\nR1 a 0 1\n", "v1"));
  EXPECT_EQ(component("V1 a 0 1\nE1 b 0 VALUE 2*V(a,0)\nR1 b 0 1\n", "e1"),
            component("V1 a 0 1\nE1 b 0 VALUE={2*V(a,0)}\nR1 b 0 1\n", "e1"));
  const std::string q = "V1 a 0 1\nQ1 a a 0 qm\n";
  EXPECT_EQ(component(q + ".model qm npn bf 20 rb 100 tf .1ns\n", "q1"),
            component(q + ".model qm npn(bf=20 rb=100 tf=.1ns)\n", "q1"));
  EXPECT_EQ(faults_of("V1 a 0 1\nR1 a 0 1\n.model broken\n.nodeset v(nowhere)=1\n\x1a"), "none");
  const std::string m = "V1 a 0 1\n.model mm nmos(vto=1)\nM1 a a 0 0 mm l=2u w=10u ad=3p\n";
  for (const char* options : {".options scale=2\n", ".options parser scale=2\n"}) {  // the second is Xyce's
    const std::string scaled = component(m + options, "m1");
    EXPECT_NE(scaled.find("W = 2e-05, L = 4e-06"), std::string::npos) << scaled;
  }
}

TEST(Netlist, MOfAnElementIsHowManyInParallelMOfAModelIsTheGradingCoefficient) {
  const std::string lines = "V1 a 0 1\n.model dm d(cjo=1p m=0.4)\nD1 a 0 dm m=1\nD2 a 0 dm 2 m=3\n";
  EXPECT_EQ(component(lines, "d1"),
            R"(d1 = { kind = "electrical.junction_diode", p = "a", n = "datum", Cj0 = 1e-12, M = 0.4 })");
  EXPECT_NE(component(lines, "d2").find("area = 6"), std::string::npos) << component(lines, "d2");
}

TEST(Netlist, APerfectCouplingIsAnInductorAndAnIdealTransformer) {
  const std::string toml = converted("V1 a 0 1\nL1 a 0 1m\nL2 b 0 4m\nK1 L1 L2 -1\nR1 b 0 1\n").toml;
  EXPECT_EQ(line_of(toml, "l1"), R"(l1 = { kind = "electrical.inductor", p = "a", n = "datum", L = 0.001 })");
  EXPECT_EQ(
      line_of(toml, "l2_ideal"),
      R"(l2_ideal = { kind = "electrical.ideal_transformer", p1 = "a", n1 = "datum", p2 = "b", n2 = "datum", n = -0.5 })");
  EXPECT_NE(toml.find("\"I(l1)\" = \"l1.i + l2_ideal.primary.i\""), std::string::npos) << toml;
}

TEST(Netlist, ARepeatedTimeOfPwlIsAJumpAndOneThatGoesBackAFault) {
  EXPECT_NE(component("V1 a 0 PWL(0 0 1 0 1 2 2 3)\nR1 a 0 1", "v1").find("if(t >= 1, 2, 0)"),
            std::string::npos);
  EXPECT_EQ(faults_of("V1 a 0 PWL(0 0 2 0 1 2)\nR1 a 0 1"), "T508:2");
}

TEST(Netlist, PwlRepeatsAndBeginsLater) {
  EXPECT_NE(component("V1 a 0 PWL(0 0 1 2 3 0) r=1\nR1 a 0 1", "v1").find("if(t < 3, t, 1 + mod(t - 1, 2))"),
            std::string::npos);
  EXPECT_NE(component("V1 a 0 PWL(0 0 1 2) td=5\nR1 a 0 1", "v1").find("[[5, 0], [6, 2]]"),
            std::string::npos);
}

TEST(Netlist, ATranWithoutAStepHas500Rows) {
  EXPECT_NE(converted("V1 a 0 1\nR1 a 0 1\n.tran 0 5m").toml.find("sample = 1e-05"), std::string::npos);
}

// A refusal says what is missing, not what was met on the way.
TEST(Netlist, ARefusalNamesTheElementOrModelThatIsMissing) {
  const auto message = [](const std::string& lines) -> std::string {
    try {
      converted(lines);
    } catch (const ModelError& error) {
      return error.faults()[0].message;
    }
    return "none";
  };
  EXPECT_EQ(message("M1 d g 0 0 nch l=1u w=1u\n.model nch nmos(level=14 version=4.8)\n"),
            "the model 'nch' of 'm1' is BSIM4 (nmos of level 14), which is not supported");
  EXPECT_EQ(message("M1 d g 0 0 nch l=1u w=1u\n.model nch.1 nmos(level=54 lmin=0)\n"),
            "the model 'nch.1' of 'm1' is BSIM4 (nmos of level 54), which is not supported");
  EXPECT_EQ(message("M1 d g 0 tj tc mm thermal\n.model mm vdmos(rthjc=1)\n"),
            "the self-heating of 'm1' (`thermal`, with nodes for its temperatures) is not supported");
  EXPECT_EQ(message("Q1 c b 0 qh\n.model qh npn(level=8)\n"),
            "the model 'qh' of 'q1' is HICUM level 2 (npn of level 8), which is not supported");
  EXPECT_EQ(message("A1 [in] [out] inv\n.model inv d_inverter(rise_delay=1n)\n"),
            "'a1' is an XSPICE code model, 'd_inverter', which is not supported");
  EXPECT_EQ(message("Y1 a 0 b 0 line len=1\n.model line txl(r=1 l=1n c=1p)\n"),
            "'y1' is a lossy transmission line (TXL), which is not supported");
  EXPECT_EQ(message("V1 a 0 1\nR1 a 0 1\n.ac dec 10 1 1k\n"), "the analysis '.ac' is not supported");
  EXPECT_EQ(message("L1 a 0 1\nL2 b 0 1\nK1 L1 L2 0.9 steel\n.model steel core(ms=1)\n"),
            "'k1' has a core, 'steel' (core), which is not supported");
}

TEST(Netlist, TheTranOfAControlBlockIsTheRunWhereNothingElseAsksForOne) {
  const std::string circuit = "V1 a 0 1\nR1 a 0 1\n", block = ".control\nrun\ntran 1u 2m\n.endc\n";
  EXPECT_NE(converted(circuit + block).toml.find("stop = 0.002"), std::string::npos);
  EXPECT_NE(converted(circuit + block + ".tran 1u 5m\n").toml.find("stop = 0.005"), std::string::npos);
  EXPECT_NE(converted(circuit + ".op\n" + block).toml.find("stop = 0.002"), std::string::npos);
  const auto notes = converted(circuit + ".control\nalter r1=2\ntran 1u 2m\n.endc\n").notes;
  EXPECT_NE(notes.back().find("('alter') is not done"), std::string::npos) << notes.back();
}

TEST(Netlist, TransOfOtherProgramsAreRead) {
  EXPECT_NE(converted("V1 a 0 1\nR1 a 0 1\n.tran 5m\n").toml.find("stop = 0.005"), std::string::npos);
  EXPECT_NE(converted("V1 a 0 1\nR1 a 0 1\n.tran 1u 5m noop\n").toml.find("stop = 0.005"), std::string::npos);
  EXPECT_NE(component("V1 a 0 5\nR1 a 0 1\n.tran 5m startup\n", "v1").find("5*min(t/2e-5, 1)"),
            std::string::npos);
  // Xyce's options are of a part of it: the tolerance of its nonlinear solver is not that of the run.
  EXPECT_EQ(
      converted("V1 a 0 1\nR1 a 0 1\n.tran 1u 5m\n.options nonlin reltol=1e-2\n").toml.find("tolerance"),
      std::string::npos);
}

TEST(Netlist, ModelsHaveKindsFlagsAndParametersThatAreUnknown) {
  const std::string lines =
      "V1 a 0 1\n.model base d(is=1e-12 n=1.5 color=3)\n.model d2 ako:base d(n=2)\nD1 a 0 d2\n"
      ".model p vdmos(pchan vto=-3)\nM1 a a 0 p\n";
  EXPECT_EQ(component(lines, "d1"),
            R"(d1 = { kind = "electrical.junction_diode", p = "a", n = "datum", Is = 1e-12, N = 2 })");
  EXPECT_NE(component(lines, "m1").find("polarity = -1, Vto = -3"), std::string::npos)
      << component(lines, "m1");
  const auto notes = converted(lines).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'color' is not a parameter of d"), std::string::npos);
}

TEST(Netlist, ATransistorWithTooFewNodesIsAFault) {
  try {
    converted("V1 a 0 1\n.model n nmos\nM1 a a 0 n\n");
    FAIL() << "three nodes of four";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("'m1' has 3 nodes, and the model 'n' needs 4: d, g, s, b"),
              std::string::npos)
        << error.what();
  }
}

TEST(Netlist, MOfASubcircuitIsHowManyOfItAreInParallel) {
  const std::string lines = "V1 a 0 1\nX1 a s m=2\n.subckt s a\nR1 a 0 6\nC1 a 0 1u\nI1 a 0 3\n.ends\n";
  EXPECT_NE(component(lines, "x1_r1").find("R = \"6/2\""), std::string::npos) << component(lines, "x1_r1");
  EXPECT_NE(component(lines, "x1_c1").find("C = \"1e-06*2\""), std::string::npos);
  EXPECT_NE(component(lines, "x1_i1").find("I = \"2*3\""), std::string::npos);
}

TEST(Netlist, AnyEndingIsANetlistWhenItLooksLikeOne) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto put = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  };
  EXPECT_TRUE(is_netlist("a.cir"));
  EXPECT_TRUE(is_netlist(put("netlist_look.cir.out", "title\nR1 a 0 1\n.tran 1u 1m\n")));
  EXPECT_FALSE(is_netlist(put("netlist_look.txt", "a letter.\n... and so on\n")));
  EXPECT_FALSE(is_netlist(put("netlist_look.toml", ".tran\n")));
  for (const char* name : {"netlist_look.cir.out", "netlist_look.txt", "netlist_look.toml"})
    std::filesystem::remove(folder / name);
}

TEST(Netlist, RatesAndIntegralsOfExpressionsAreCapacitors) {
  const std::string lines =
      "V1 a 0 sin(0 1 1k)\nB1 b 0 v=ddt(v(a))*2\nB2 c 0 v=sdt(v(a))\nR1 b c 1\n.tran 1u 1m\n";
  EXPECT_NE(component(lines, "b1").find("V = \"ddt.i*2\""), std::string::npos) << component(lines, "b1");
  EXPECT_EQ(component(lines, "sdt"),
            R"(sdt = { kind = "electrical.capacitor", p = "sdt_node", n = "datum", C = 1 })");
}

TEST(Netlist, FaultsOfTheModelReaderStandAtTheNetlist) {
  const auto file = std::filesystem::path(testing::TempDir()) / "netlist_places.cir";
  std::ofstream(file) << "title\n* comment\nV1 a 0 1\nR1 a 0 1\nL1 a 0 -1u\n.tran 1u 1m\n";
  try {
    read_netlist(file);
    FAIL();
  } catch (const ModelError& error) {
    ASSERT_EQ(error.faults().size(), 1u);
    EXPECT_EQ(error.faults()[0].code, "T124");
    EXPECT_EQ(error.faults()[0].place.line, 5);
  }
  std::filesystem::remove(file);
}

TEST(Netlist, OutputsAreCalledAsInSpice) {
  const auto file = std::filesystem::path(testing::TempDir()) / "netlist_outputs.cir";
  std::ofstream(file) << "title\n.param RR=2\nV1 a 0 1\nR1 a b {rr}\nR2 b 0 1\n.tran 1u 1m\n";
  const Model model = read_netlist(file, {.library = {}, .overrides = {{"RR", "3"}}});
  std::filesystem::remove(file);
  ASSERT_EQ(model.outputs.size(), 5u);
  EXPECT_EQ(model.outputs[0].name, "V(a)");
  EXPECT_EQ(model.outputs[4].name, "I(r2)");
  EXPECT_EQ(model.parameters[0].number, 3.0);
  EXPECT_EQ(parse_value(model, "v(A)", {}), model.pool->symbol("a.v"));
  EXPECT_EQ(parse_value(model, "2*V(a, B) - i(R1)", {}), parse_value(model, "2*(a.v - b.v) - r1.i", {}));
  EXPECT_THROW(parse_value(model, "V(c)", {}), ModelError);
}

TEST(Netlist, OfTwoPortsWithOneNameTheFirstCounts) {
  const std::string text = ".subckt twice p p q\nR1 p q 1\n.ends\nX1 a b 0 twice\nV1 a 0 1\nR2 b 0 1\n";
  EXPECT_EQ(component(text, "x1_r1"),
            R"(x1_r1 = { kind = "electrical.resistor", p = "a", n = "datum", R = 1 })");
}

TEST(Netlist, NodesOfPSpiceBeginWithADollar) {
  EXPECT_EQ(component("R1 $N_0001 0 1 $ a comment\n", "r1"),
            R"(r1 = { kind = "electrical.resistor", p = "_n_0001", n = "datum", R = 1 })");
}

TEST(Netlist, TheSmallestCapacitorFollowsInACircuitWithAControlledSourceWithUic) {
  const std::string sources = "V1 a 0 5\nR1 a b 1k\nR2 b 0 1k\nE1 ref 0 b 0 1\nR3 in 0 1k\n";
  for (const char* capacitors :
       {"C1 in 0 1n ic=1\nC2 in ref 2p ic=1\n", "C2 in ref 2p ic=1\nC1 in 0 1n ic=1\n"}) {
    const std::string toml = converted(sources + capacitors + ".tran 1u 1m uic\n").toml;
    EXPECT_NE(toml.find("\"c1.v\" = 1"), std::string::npos) << toml;
    EXPECT_EQ(line_of(toml, "c2").find("v0"), std::string::npos) << toml;
  }
}

TEST(Netlist, ACurrentSourceDecidesNoPotentialUnlessItDependsOnIt) {
  const auto holds = [](const std::string& source) {
    const std::string text = "V1 x 0 1\nC1 a 0 1n\n" + source + "\n.tran 1u 1m\n";
    return converted(text).toml.find("hold_") != std::string::npos;
  };
  EXPECT_TRUE(holds("I1 0 a pulse(0 1m 1u 1n 1n 5u 100u)"));
  EXPECT_TRUE(holds("F1 0 a V1 2"));
  EXPECT_TRUE(holds("G1 0 a x 0 1m"));
  EXPECT_TRUE(holds("B1 0 a i=v(x)"));
  EXPECT_FALSE(holds("G1 a 0 a 0 1m"));
  EXPECT_FALSE(holds("B1 a 0 i=v(a)/1k"));
}

TEST(Netlist, AChoiceNeedsNoBraces) {
  const std::string text = "V1 a 0 1\nC1 a 0 c = (v(a) < {5}) ? {1u} : {2u}\n";
  EXPECT_EQ(component(text, "c1"), component("V1 a 0 1\nC1 a 0 c={(v(a) < (5)) ? (1u) : (2u)}\n", "c1"));
}

TEST(Netlist, APartInTheAirIsHeldAndNamed) {
  const ConvertedNetlist c = converted("V1 a 0 1\nG1 0 b c d 1m\nR1 c d 1k\nR2 b 0 1\n.tran 1u 1m\n");
  EXPECT_EQ(line_of(c.toml, "hold_c"),
            R"(hold_c = { kind = "electrical.resistor", p = "c", n = "datum", R = 1000000000000 })");
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_NE(c.notes[0].find("nothing joins 'c', 'd' to node 0: 'hold_c' holds 'c' with 1e-12 S"),
            std::string::npos)
      << c.notes[0];
}

TEST(Netlist, BeforeASteadyStartCapacitorsAndGatesJoinNothing) {
  const std::string lines =
      "V1 a 0 1\nC1 a b 1u\nC2 b 0 2u\nM1 a d 0 0 m\nC4 d 0 1p\nM2 a e 0 0 m\n.model m nmos\n";
  const std::string steady = converted(lines + ".tran 1u 1m\n").toml;
  // In the ratio of their reactances, so that the divider of capacitors stays one.
  EXPECT_NE(line_of(steady, "hold_c1").find("p = \"a\", n = \"b\", R = 2000000000000 }"), std::string::npos);
  EXPECT_NE(line_of(steady, "hold_c2").find("p = \"b\", n = \"datum\", R = 1000000000000 }"),
            std::string::npos);
  EXPECT_NE(line_of(steady, "hold_c4"), "");
  EXPECT_NE(line_of(steady, "hold_e").find("p = \"e\", n = \"datum\""), std::string::npos);
  EXPECT_EQ(converted(lines + ".tran 1u 1m uic\n").toml.find("hold_"), std::string::npos);
}

TEST(Netlist, AnInitialVoltageAtASourceHasNoEffect) {
  const ConvertedNetlist c = converted("V1 a 0 1\nR1 a b 1\nC1 b 0 1\n.ic v(a)=2 v(b)=3\n.tran 1u 1m\n");
  EXPECT_EQ(c.toml.find("\"a.v\" = "), std::string::npos);
  EXPECT_NE(c.toml.find("\"b.v\" = 3"), std::string::npos);
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_NE(c.notes[0].find("'a' of .ic has no effect: a source decides it"), std::string::npos);
}

// C1 and C2 in series across 5 V keep the charge between them: 1 uC on 1 uF and 3 uF, 5 V together.
TEST(Netlist, CapacitorsInACircuitShareTheirChargeWithUic) {
  const std::string text = "V1 in 0 5\nC1 in a 1u ic=1\nC2 a 0 3u\nR1 a 0 1k\n.tran 1u 1m uic\n";
  EXPECT_NE(component(text, "c1").find("v0 = 4 "), std::string::npos) << component(text, "c1");
  EXPECT_NE(component(text, "c2").find("v0 = 1 "), std::string::npos) << component(text, "c2");
  const auto notes = converted(text).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'c1' at 4 V (not 1), 'c2' at 1 V (not 0)"), std::string::npos) << notes[0];
}

TEST(Netlist, CouplingsThatCannotBeAreRefused) {
  const std::string text = "V1 a 0 1\nL1 a 0 1\nL2 b 0 1\nR2 b 0 1\nL3 c 0 1\nR3 c 0 1\nK1 L1 L2 0.75\n";
  EXPECT_EQ(faults_of(text + "K2 L1 L3 0.8\n.tran 1 1\n"), "T508:8");
  EXPECT_EQ(faults_of(text + "K2 L1 L3 0.6\n.tran 1 1\n"), "none");
}

TEST(Netlist, RandomNumbersAreTheirMeanWithANote) {
  const ConvertedNetlist of = converted("V1 a 0 1\nR1 a 0 {agauss(1k, 10, 3)}\n.tran 1u 1m\n");
  EXPECT_NE(line_of(of.toml, "r1").find("R = 1000"), std::string::npos);
  EXPECT_EQ(of.notes.front(), "test.cir:3: note: agauss() is its mean: nothing is random here");
}

// For SPICE the step of .tran bounds its own: it may be a nanosecond in a run of seconds.
TEST(Netlist, AStepOfTranThatIsVeryShortMakesFewerRows) {
  const ConvertedNetlist of = converted("V1 a 0 1\nR1 a 0 1\n.tran 1n 1m\n");
  EXPECT_NE(of.toml.find("stop = 0.001\nstep = 1e-09\nsample = 1e-08"), std::string::npos) << of.toml;
  EXPECT_NE(of.notes.back().find("would make 1e+06 rows"), std::string::npos) << of.notes.back();
  EXPECT_NE(converted("V1 a 0 1\nR1 a 0 1\n.tran 1n 100u\n").toml.find("sample = 1e-09"), std::string::npos);
}

TEST(Netlist, OffMayStandBehindNamedValues) {
  const std::string circuit = ".model mm nmos(kp=1e-4)\nV1 a 0 1\n.tran 1u 1m\n";
  const std::string off = component(circuit + "M1 a a 0 0 mm w=20u l=3u ad=160p off\n", "m1");
  EXPECT_EQ(off, component(circuit + "M1 a a 0 0 mm off w=20u l=3u ad=160p\n", "m1"));
  EXPECT_NE(off.find("W = 2e-05"), std::string::npos) << off;
}

TEST(Netlist, CapacitancesAndInductancesMayBeZeroAndCapacitancesBelow) {
  const std::string circuit = "V1 a 0 1\nR1 a b 1\nR2 b 0 1\n.param z=0\n.tran 1u 1m\n";
  EXPECT_NE(component(circuit + "C1 b 0 {z}\n", "c1").find("current_source"), std::string::npos);
  EXPECT_NE(component(circuit + "L1 b 0 {z}\n", "l1").find("voltage_source"), std::string::npos);
  EXPECT_EQ(component(circuit + "C1 b 0 -3n\n", "c1"),
            R"(c1 = { kind = "electrical.negative_capacitor", p = "b", n = "datum", C = -3e-09 })");
}

}  // namespace netlist_test
}  // namespace tellegen
