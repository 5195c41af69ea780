#include "tellegen/results/surface.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/results/gnuplot.h"

namespace tellegen {

std::string surface_script(const std::filesystem::path& picture, bool png, const Surface& surface) {
  std::string text = "$grid << EOD\n";
  for (std::size_t row = 0; row < surface.y.size(); ++row) {
    for (std::size_t column = 0; column < surface.x.size(); ++column) {
      const double z = surface.z[row * surface.x.size() + column];
      text += fmt::format("{:.9g} {:.9g} {}\n", surface.x[column], surface.y[row],
                          std::isfinite(z) ? fmt::format("{:.9g}", z) : "NaN");
    }
    text += "\n";
  }
  text += "EOD\n$marks << EOD\n";
  for (const Surface::Mark& mark : surface.marks)
    text += fmt::format("{:.9g} {:.9g} 0 \"{}\"\n", mark.x, mark.y, mark.name);
  text += "EOD\n";
  text += fmt::format("set terminal {} size 760,620 noenhanced font 'sans,{}' background '#ffffff'{}\n",
                      png ? "pngcairo" : "svg", png ? 10 : 13, png ? "" : " dynamic");
  text += "set output " + gnuplot_text(picture.string()) + "\nset encoding utf8\n";
  text += "set title " + gnuplot_text(surface.title) + " tc rgb '#111111'\n";
  text += "set xlabel " + gnuplot_text(surface.x_label) + "\nset ylabel " + gnuplot_text(surface.y_label) +
          "\nset cblabel " + gnuplot_text(surface.z_label) + "\n";
  text += "set view map\nset pm3d interpolate 4,4\nunset key\nset tics out nomirror\n";
  // From dark to light in even steps of lightness, told apart without colour too.
  text +=
      "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
      "set autoscale xfix\nset autoscale yfix\n"
      "set contour base\nset cntrparam levels auto 12\nset cntrlabel onecolor\n";
  text +=
      "splot $grid using 1:2:3 with pm3d, $grid using 1:2:3 with lines lw 0.7 lc rgb '#ffffff' nosurface, "
      "$marks using 1:2:3 with points pt 7 ps 1 lc rgb '#D55E00' nocontour, "
      "$marks using 1:2:3:4 with labels offset 1,0.8 tc rgb '#ffffff' nocontour\n";
  return text + "unset output\n";
}

void write_surface(const std::filesystem::path& path, const Surface& surface) {
  draw_picture(path, [&](const std::filesystem::path& picture, bool png) {
    return surface_script(picture, png, surface);
  });
}

}  // namespace tellegen
