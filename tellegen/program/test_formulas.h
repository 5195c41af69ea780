// Random formulas for the tests of this folder.
#pragma once

#include <random>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

inline Expr random_formula(Pool& pool, std::mt19937& random, const std::vector<Expr>& symbols, int depth) {
  static const auto line =
      make_table("line", {-1.0, 0.0, 0.5, 2.0}, {1.0, 0.5, 3.0, -1.0}, Interpolation::linear);
  static const auto curve =
      make_table("curve", {-2.0, 0.0, 1.0, 2.0}, {0.0, 1.0, 4.0, 5.0}, Interpolation::cubic);
  static const auto map = make_grid("map", {{-1.0, 0.0, 2.0}, {-1.5, 0.5, 1.0, 3.0}},
                                    {1, 2, 0, 3, -1, 4, 2, 2, 0, 1, 5, 3}, Interpolation::cubic);
  static const auto block = make_grid("block", {{-1.0, 1.0}, {0.0, 0.5, 1.0}, {-2.0, 2.0}},
                                      {1, 2, 0, 3, -1, 4, 2, 2, 0, 1, 5, 3}, Interpolation::linear);
  const auto sub = [&] { return random_formula(pool, random, symbols, depth - 1); };
  const auto pick = random() % (depth > 0 ? 16 : 2);
  switch (pick) {
    case 0:
      return pool.number(std::uniform_real_distribution<double>(-2.0, 2.0)(random));
    case 1:
      return symbols[random() % symbols.size()];
    case 2:
    case 3:
      return sub() + sub();
    case 4:
      return sub() - sub();
    case 5:
    case 6:
      return sub() * sub();
    case 7:
      return sub() / (1.0 * sub() * sub() + 3.0);
    case 8:
      return pool.call("sin", {sub()});
    case 9:
      return pool.call("limexp", {pool.call("sin", {sub()})});
    case 10:
      return pool.call("max", {sub(), sub()});
    case 11:
      return pool.call("if", {pool.call("lt", {sub(), sub()}), sub(), sub()});
    case 12:
      return pow(sub(), static_cast<double>(2 + random() % 6));
    case 13:
      return pool.call("sqrt", {pool.call("abs", {sub()})}) + pow(pool.call("abs", {sub()}) + 1.0, 1.5);
    case 14:
      switch (random() % 4) {
        case 0:
          return pool.lookup(map, static_cast<int>(random() % 6), std::vector{sub(), sub()});
        case 1:
          return pool.lookup(block, static_cast<int>(random() % 2), std::vector{sub(), sub(), sub()});
        default:
          return pool.lookup(random() % 2 ? line : curve, static_cast<int>(random() % 2), sub());
      }
    default:
      return pow(pool.call("abs", {sub()}) + 0.5, -0.5) * pool.call("junction_limit", {sub(), sub()});
  }
}

}  // namespace tellegen
