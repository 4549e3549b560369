"""Plots as SVG, for the pages: panels side by side, each with an axis of decades, and lines with the range of their rounds."""

import dataclasses
import html
import math

COLORS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LEGEND = 300, 300, 58, 14, 44, 50, 20


@dataclasses.dataclass
class Line:
    name: str
    # x, and y as median, minimum and maximum.
    points: list


@dataclasses.dataclass
class Panel:
    title: str
    x: str
    y: str
    lines: list
    # Each a number and what to write there; None: the values of x.
    x_marks: list | None = None
    is_log: bool = False


def amount(value):
    if value >= 1000 and math.log10(value) == round(math.log10(value)):
        return "10" + str(round(math.log10(value))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:,.10g}"


def nice_steps(most):
    step = 10 ** math.floor(math.log10(most))
    step = next(part * step for part in (0.2, 0.25, 0.5, 1, 2) if most / (part * step) <= 5.5)
    return [step * n for n in range(math.ceil(most / step - 1e-9) + 1)]


def decades(least, most):
    return [10.0**n for n in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]


class Axes:
    """Where a panel's values are on the picture."""

    def __init__(self, panel, left):
        xs = [point[0] for line in panel.lines for point in line.points]
        ys = [y for line in panel.lines for point in line.points for y in point[1:]]
        self.x_marks = panel.x_marks or [(x, amount(x)) for x in sorted(set(xs))]
        self.y_marks = decades(min(ys), max(ys)) if panel.is_log else nice_steps(max(ys))
        self.is_log, self.left = panel.is_log, left + LEFT
        self.width, self.height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        self.first, self.last = (math.log10(pick(x for x, _ in self.x_marks)) for pick in (min, max))

    def x(self, value):
        share = (math.log10(value) - self.first) / ((self.last - self.first) or 1)
        return self.left + 10 + share * (self.width - 20)

    def y(self, value):
        low, high = self.y_marks[0], self.y_marks[-1]
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
        return TOP + self.height * (1 - (value - low) / (high - low))


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{html.escape(words)}</text>'


def frame(panel, axes):
    middle, bottom = axes.left + axes.width / 2, TOP + axes.height
    yield text(middle, TOP - 14, panel.title, 'text-anchor="middle" font-weight="bold"')
    yield text(middle, bottom + 38, panel.x, 'text-anchor="middle"')
    yield text(0, 0, panel.y, f'text-anchor="middle" transform="translate({axes.left - 44} {TOP + axes.height / 2:.0f}) rotate(-90)"')
    for value in axes.y_marks:
        y = axes.y(value)
        yield f'<path d="M{axes.left} {y:.1f}h{axes.width}" stroke="#d1d9e0"/>' + text(axes.left - 6, y + 4, amount(value), 'text-anchor="end"')
    for value, words in axes.x_marks:
        yield text(axes.x(value), bottom + 18, words, 'text-anchor="middle"')


def drawn(line, color, axes):
    points = [(axes.x(x), axes.y(y), axes.y(low), axes.y(high)) for x, y, low, high in line.points]
    yield f'<polyline fill="none" stroke="{color}" stroke-width="2" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in points) + '"/>'
    for x, y, low, high in points:
        yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{color}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'


def legend(names, width):
    left = LEFT
    for name, color in names.items():
        yield f'<path d="M{left} {HEIGHT + 4}h18" stroke="{color}" stroke-width="3"/>' + text(left + 24, HEIGHT + 9, name)
        left += 46 + 7 * len(name)
    assert left < width + 40, "the legend has no room"


def write(path, title, panels):
    names = {name: color for name, color in zip(dict.fromkeys(line.name for panel in panels for line in panel.lines), COLORS, strict=False)}
    width, height = WIDTH * len(panels), HEIGHT + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="12" fill="#1f2328" role="img" aria-labelledby="title">',
        f'<title id="title">{html.escape(title)}</title><rect width="{width}" height="{height}" fill="#ffffff"/>']
    for place, panel in enumerate(panels):
        axes = Axes(panel, place * WIDTH)
        parts += frame(panel, axes)
        for line in panel.lines:
            parts += drawn(line, names[line.name], axes)
    parts += [*legend(names, width), "</svg>"]
    path.write_text("\n".join(parts) + "\n")
