#include "tellegen/netlist/lines.h"

#include <fstream>

#include "tellegen/netlist/test_netlist.h"

namespace tellegen {
namespace lines_test {

namespace fs = std::filesystem;

std::string texts(const Cards& cards) {
  std::string text;
  for (const Card& card : cards.cards) text += card.text + "|";
  return text;
}

std::string read(const std::string& text) { return texts(read_cards_text(text, "a.cir")); }

class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("netlist-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

TEST(Lines, TheFirstLineIsTheTitleWhateverItSays) {
  const Cards cards = read_cards_text("R1 a b 1k\nR2 a b 2k\n", "a.cir");
  EXPECT_EQ(cards.title, "R1 a b 1k");
  EXPECT_EQ(texts(cards), "r2 a b 2k|");
}

TEST(Lines, ContinuationsJoinAcrossCommentsAndBlankLines) {
  EXPECT_EQ(read("t\nV1 a 0\n* comment\n\n+ SIN(0 1\n  +   1k)\nR1 a 0 1"), "v1 a 0 sin(0 1 1k)|r1 a 0 1|");
}

TEST(Lines, CommentsEndALine) {
  EXPECT_EQ(read("t\nR1 a 0 1k ; semicolon\nR2 a 0 2k $ dollar\nR3 a$b 0 3k // slashes\n   * star\n"),
            "r1 a 0 1k|r2 a 0 2k|r3 a$b 0 3k|");
}

TEST(Lines, OldEncodingsAreRead) {
  EXPECT_EQ(read("t\nC1 a 0 10\xb5"
                 "F\n"),
            "c1 a 0 10\xc2\xb5"
            "f|");                                                                                 // Latin-1
  EXPECT_EQ(read(std::string("\xff\xfet\0\n\0R\0001\0 \0a\0 \0000\0 \0002\0", 22)), "r1 a 0 2|");  // UTF-16
}

TEST(Lines, EndStopsTheReading) { EXPECT_EQ(read("t\nR1 a 0 1\n.END\nrubbish"), "r1 a 0 1|"); }

TEST(Lines, CarriageReturnsByteOrderMarksAndMissingNewlinesDoNoHarm) {
  EXPECT_EQ(read("\xef\xbb\xbftitle\r\nR1 a 0 1\r\n+ m=2\r\nR2 a 0 2"), "r1 a 0 1 m=2|r2 a 0 2|");
}

TEST(Lines, AControlBlockIsSkippedWithANote) {
  const Cards cards = read_cards_text("t\n.control\nrun\nplot v(a)\n.endc\nR1 a 0 1\n", "a.cir");
  EXPECT_EQ(texts(cards), "r1 a 0 1|");
  ASSERT_EQ(cards.notes.size(), 1u);
  EXPECT_EQ(cards.notes[0].place.line, 2);
}

TEST(Lines, WhatIsWrongIsAFaultWithItsLine) {
  EXPECT_EQ(faults_of("+ 1k"), "T502:2");
  EXPECT_EQ(faults_of("R1 a 0 1\n.control\nrun"), "T502:4");
  EXPECT_EQ(faults_of(std::string("R1 a 0 1\x01k", 10)), "T502:2");
  EXPECT_EQ(faults_of(".include nowhere.inc"), "T180:2");
  EXPECT_EQ(faults_of(".include"), "T502:2");
}

TEST(Lines, IncludedCardsKeepTheirOwnPlaces) {
  const Folder folder;
  folder.put("Part.inc", "* no title here\nR2 b 0 2k\n");
  const Cards cards = read_cards(folder.put("main.cir", "t\nR1 a b 1k\n.INCLUDE \"Part.inc\"\nR3 a 0 3k\n"));
  EXPECT_EQ(texts(cards), "r1 a b 1k|r2 b 0 2k|r3 a 0 3k|");
  EXPECT_EQ(fs::path(cards.cards[1].place.file).filename(), "Part.inc");
  EXPECT_EQ(cards.cards[1].place.line, 2);
  EXPECT_EQ(cards.cards[2].place.line, 4);
}

TEST(Lines, OneSectionOfALibraryIsRead) {
  const Folder folder;
  folder.put("c.lib", ".lib slow\nR1 a 0 1\n.endl\n.lib FAST\nR2 a 0 2\n.endl fast\nR3 a 0 3\n");
  EXPECT_EQ(texts(read_cards(folder.put("m.cir", "t\n.lib c.lib fast\n"))), "r2 a 0 2|");
  EXPECT_THROW(read_cards(folder.put("n.cir", "t\n.lib c.lib medium\n")), ModelError);
}

TEST(Lines, ALibraryWithoutASectionIsReadWhole) {
  const Folder folder;
  folder.put("nom.lib", "R2 a 0 2\n.end\nR4 a 0 4\n");
  EXPECT_EQ(texts(read_cards(folder.put("m.cir", "t\nR1 a 0 1\n.lib \"nom.lib\"\nR3 a 0 3\n"))),
            "r1 a 0 1|r2 a 0 2|r4 a 0 4|r3 a 0 3|");
  // Neither a file nor a section that ends: a fault where it stands.
  EXPECT_EQ(faults_of("R1 a 0 1\n.lib \"none.lib\"\nR3 a 0 3\n.end"), "T180:3");
  EXPECT_EQ(faults_of("R1 a 0 1\n.lib fast\nR3 a 0 3\n.lib slow\nR4 a 0 4\n.endl"), "T180:3");
}

TEST(Lines, WhatIsNotReadIsNoted) {
  const Cards cards = read_cards_text("t\n.lib fast\nR1 a 0 1\n.endl\nR2 a 0 2\n.end\n\nR3 a 0 3\n", "a.cir");
  EXPECT_EQ(texts(cards), "r2 a 0 2|");
  ASSERT_EQ(cards.notes.size(), 2u);
  EXPECT_EQ(cards.notes[0].place.line, 2);
  EXPECT_EQ(cards.notes[1].text, "what stands behind .end is not read");
}

TEST(Lines, AnEndBeforeTheFirstElementIsNone) {
  const Cards cards = read_cards_text("t\n.tran 1u 1m\n.end\nR1 a 0 1\n.end\nR2 a 0 2\n", "a.cir");
  EXPECT_EQ(texts(cards), ".tran 1u 1m|r1 a 0 1|");
  EXPECT_EQ(cards.notes.size(), 2u);
}

TEST(Lines, AControlBlockBehindTheEndIsRead) {
  const Cards cards =
      read_cards_text("t\nR1 a 0 1\n.end\n* more\n.control\ntran 1u 1m\n+ uic\n.endc\n.end\n", "a.cir");
  EXPECT_EQ(texts(cards), "r1 a 0 1|");
  ASSERT_EQ(cards.control.size(), 1u);
  EXPECT_EQ(cards.control[0].text, "tran 1u 1m uic");
  ASSERT_EQ(cards.notes.size(), 1u);
  EXPECT_NE(cards.notes[0].text.find(".control"), std::string::npos);
}

TEST(Lines, AClosingParenthesisGoesOnWithItsLine) {
  EXPECT_EQ(read("t\n.model d d(\n+ is=1\n)\nR1 a 0 1"), ".model d d( is=1 )|r1 a 0 1|");
}

TEST(Lines, AFileThatIncludesItselfIsAFault) {
  const Folder folder;
  folder.put("a.inc", ".include b.inc\n");
  folder.put("b.inc", "R1 a 0 1\n.include a.inc\n");
  try {
    read_cards(folder.put("m.cir", "t\n.include a.inc\n"));
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults()[0].code, "T507");
    EXPECT_EQ(error.faults()[0].place.line, 2);
  }
}

}  // namespace lines_test
}  // namespace tellegen
