#include <gtest/gtest.h>

#include "tellegen/netlist/test_netlist.h"

namespace tellegen {
namespace measures_test {

const std::string divider = "v1 in 0 pulse(0 5 1u 1n 1n 5u 10u)\nr1 in out 1k\nc1 out 0 1n\n.tran 10n 20u\n";

Analyses analyses_of(const std::string& lines) { return converted(divider + lines).analyses; }
MeasureSpec measure_of(const std::string& line) { return analyses_of(line).measures.at(0); }
using What = MeasureSpec::What;

TEST(measures, trig_and_targ) {
  const MeasureSpec m =
      measure_of(".meas tran td trig v(in) val=2.5 rise=2 td=1u targ v(out) val='0.5*5' fall=last\n");
  EXPECT_EQ(m.name, "td");
  EXPECT_EQ(m.what, What::interval);
  EXPECT_EQ(m.first->signal, "in.v");
  EXPECT_EQ(m.first->level, "2.5");
  EXPECT_EQ(m.first->edge, MeasurePoint::Edge::rise);
  EXPECT_EQ(m.first->count, 2);
  EXPECT_NE(m.first->after, "");
  EXPECT_EQ(m.second->edge, MeasurePoint::Edge::fall);
  EXPECT_EQ(m.second->count, 0);
  EXPECT_EQ(m.second->level, "2.5");
}

TEST(measures, the_analysis_may_be_left_out_and_values_may_follow_a_sign) {
  const MeasureSpec m = measure_of(".MEAS t TRIG V(in)=2.5 RISE=1 TARG V(out)=2.5\n");
  EXPECT_EQ(m.first->level, "2.5");
  EXPECT_EQ(m.second->edge, MeasurePoint::Edge::cross);
  EXPECT_EQ(m.second->count, 1);
  EXPECT_EQ(measure_of(".meas tran t trig at=1u targ v(out) val=1\n").first->level, "");
}

TEST(measures, two_signals_are_equal) {
  const MeasureSpec m = measure_of(".measure tran t when v(in) = v(out) cross=2\n");
  EXPECT_EQ(m.what, What::when);
  EXPECT_EQ(m.first->signal, "in.v - out.v");
  EXPECT_EQ(m.first->level, "0");
}

TEST(measures, find_and_derivatives) {
  EXPECT_EQ(measure_of(".meas tran x find v(in,out) at=3u\n").signal, "in.v - out.v");
  EXPECT_EQ(measure_of(".meas tran x find v(in)*i(v1) when v(out)=1 rise=1\n").what, What::find);
  EXPECT_EQ(measure_of(".meas tran x deriv v(out) at=3u\n").what, What::slope);
  EXPECT_EQ(measure_of(".meas tran x find par('v(in)*2') at=3u\n").signal, "in.v*2");
}

TEST(measures, of_a_span) {
  const MeasureSpec m = measure_of(".meas x avg v(in) - 3 * v(out) from=1u to = {2*2u}\n");
  EXPECT_EQ(m.what, What::average);
  EXPECT_EQ(m.signal, "in.v - 3*out.v");
  EXPECT_NE(m.from, "");
  EXPECT_NE(m.to, "");
  EXPECT_EQ(measure_of(".meas tran x integ i(r1) trig v(in) val=1 targ v(in) val=1 fall=1\n").second->edge,
            MeasurePoint::Edge::fall);
  for (const auto& [word, what] : {std::pair{"rms", What::rms},
                                   {"min", What::minimum},
                                   {"max", What::maximum},
                                   {"pp", What::peak_to_peak},
                                   {"min_at", What::minimum_at},
                                   {"max_at", What::maximum_at}})
    EXPECT_EQ(measure_of(std::string(".meas tran x ") + word + " v(out)\n").what, what);
}

TEST(measures, formulas_have_earlier_measures_and_parameters_in_them) {
  const Analyses a = analyses_of(
      ".param half=2.5\n.meas tran a when v(in)=half rise=1\n.meas tran b when v(out)='half' rise=1\n"
      ".meas tran c param='(b-a)*1e9/half'\n.meas tran d find v(out) at='b+1u'\n");
  ASSERT_EQ(a.measures.size(), 4u);
  EXPECT_NE(a.measures[2].formula.find(a.measures[1].symbol), std::string::npos);
  EXPECT_NE(a.measures[3].first->at.find(a.measures[1].symbol), std::string::npos);
  EXPECT_EQ(a.measures[0].first->level, "half");
}

TEST(measures, what_cannot_be_read_is_a_fault_at_its_line) {
  EXPECT_EQ(faults_of(divider + ".meas tran x trig v(in) val=1\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x find v(in)\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x something v(in)\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x when v(in) rise=1\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x when v(in)=1 rise=0\n"), "T508:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x when v(in)=1 rise=1 fall=1\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x when 2=1\n"), "T508:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x avg v(in from=1\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".meas tran x max v(in)\n.meas tran y avg v(in)*x\n"), "T508:7");
}

// The circuit can be run without them, as other programs do.
TEST(measures, those_of_what_the_circuit_does_not_have_are_notes) {
  for (const char* signal : {"v(nowhere)", "p(r1)", "@m1[id]", "v(out)*unknown"}) {
    const ConvertedNetlist n =
        converted(divider + ".meas tran x avg " + signal + "\n.meas tran y avg v(out)\n");
    EXPECT_EQ(n.analyses.measures.size(), 1u) << signal;
    ASSERT_EQ(n.notes.size(), 1u) << signal;
    EXPECT_NE(n.notes[0].find("is not taken"), std::string::npos) << n.notes[0];
  }
}

TEST(measures, those_of_other_analyses_and_programs_are_notes) {
  const ConvertedNetlist n =
      converted(divider + ".meas ac bw when vdb(out)=-3\n.meas tran e err v(in) v(out)\n");
  EXPECT_TRUE(n.analyses.measures.empty());
  ASSERT_EQ(n.notes.size(), 2u);
  EXPECT_NE(n.notes[0].find("'bw' is not taken"), std::string::npos);
}

TEST(measures, options_that_only_xyce_has_are_notes) {
  EXPECT_EQ(analyses_of(".meas tran x max v(in) rise=2\n.meas tran y trig v(in) frac_max=0.1 targ v(in) "
                        "val=1\n.meas tran z when v(in)=1 default_val=3\n")
                .measures.size(),
            1u);
  EXPECT_EQ(measure_of(".meas tran x when v(in)=1 rise=-1\n").first->count, 0);
  EXPECT_EQ(measure_of(".meas tran x when v(in)=1 minval=0.1 rise=2\n").first->count, 2);
  EXPECT_TRUE(analyses_of(".meas tran x param='v(in)+1'\n").measures.empty());  // a note
}

TEST(measures, commands_of_control_blocks_are_read_and_never_a_fault) {
  const ConvertedNetlist n =
      converted(divider + ".control\nrun\nmeas tran a max v(out)\nmeas tran b max @m1[id]\n.endc\n");
  ASSERT_EQ(n.analyses.measures.size(), 1u);
  EXPECT_EQ(n.analyses.measures[0].name, "a");
  EXPECT_NE(n.notes.back().find("is not taken"), std::string::npos);
}

TEST(measures, harmonics) {
  const Analyses a = analyses_of(".four 100k v(out) v(in,out)\n");
  ASSERT_EQ(a.fourier.size(), 1u);
  EXPECT_EQ(a.fourier[0].frequency, 1e5);
  ASSERT_EQ(a.fourier[0].signals.size(), 2u);
  EXPECT_EQ(a.fourier[0].signals[1].name, "v(in,out)");
  EXPECT_EQ(a.fourier[0].signals[1].formula, "in.v - out.v");
  EXPECT_EQ(faults_of(divider + ".four 100k\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".four 0 v(out)\n"), "T508:6");
  EXPECT_EQ(analyses_of(".four 100k 5 -1 v(out)\n").fourier[0].signals.size(), 1u);  // LTspice's
}

TEST(steps, of_parameters_by_increments_lists_and_decades) {
  EXPECT_EQ(analyses_of(".param r=1\n.step param r 1k 3k 1k\n").steps.at(0).values,
            (std::vector<double>{1000, 2000, 3000}));
  EXPECT_EQ(analyses_of(".param r=1\n.step param r list 5 2 {3*2}\n").steps.at(0).values,
            (std::vector<double>{5, 2, 6}));
  EXPECT_EQ(analyses_of(".param r=1\n.step dec param r 1 100 1\n").steps.at(0).values.size(), 3u);
  EXPECT_EQ(analyses_of(".param r=1\n.step oct param r 1 8 1\n").steps.at(0).values.size(), 4u);
  EXPECT_EQ(analyses_of(".param r=1\n.step param r 3 1 -1\n").steps.at(0).values,
            (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(analyses_of(".step r1 1k 2k 1k\n").steps.at(0).name, "r1.R");
  EXPECT_EQ(analyses_of(".step r1:r 1k 2k 1k\n").steps.at(0).name, "r1.R");
  EXPECT_TRUE(analyses_of(".step v1:va 1 2 1\n").steps.empty());  // a note
  EXPECT_TRUE(analyses_of(".step temp 0 100 50\n").steps.empty());
}

TEST(steps, a_parameter_may_have_its_values_from_step_alone) {
  const ConvertedNetlist n = converted("r1 a 0 {x}\ni1 a 0 1\n.tran 1 2\n.step param x list 5 6\n");
  EXPECT_EQ(line_of(n.toml, "x"), "x = 5");
  EXPECT_EQ(n.analyses.steps.at(0).name, "x");
}

TEST(steps, what_cannot_be_read_is_a_fault) {
  EXPECT_EQ(faults_of(divider + ".step\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".step param y\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".step r9 1 2 1\n"), "T506:6");
  EXPECT_EQ(faults_of(divider + ".step param y 1 2 0\n"), "T508:6");
  EXPECT_EQ(faults_of(divider + ".step param y 1 2\n"), "T502:6");
  EXPECT_EQ(faults_of(divider + ".step r1 1 2 1\n.step r1 1 2 1\n"), "T509:7");
}

TEST(steps, parameters_whose_numbers_are_in_the_text_are_named) {
  const Analyses a = converted("r1 a 0 {x}\ni1 a 0 1\n.param x=1 end=2\n.tran 1 {end}\n").analyses;
  EXPECT_EQ(a.fixed, std::vector<std::string>{"end"});
}

}  // namespace measures_test
}  // namespace tellegen
