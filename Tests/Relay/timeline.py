"""The picture of a campaign over time: throughput, memory of Redis, and memory of each other process."""

import html

from plot import COLORS, nice_steps, text

WIDTH, HEIGHT, LEFT, RIGHT, GAP, TOP = 900, 150, 70, 130, 46, 36
MORE_COLORS = (*COLORS, "#cf222e", "#57606a", "#bf3989", "#0550ae")


class Axes:
    def __init__(self, top, longest, most):
        self.top, self.longest, self.marks = top, longest, nice_steps(most)

    def x(self, at):
        return LEFT + (WIDTH - LEFT - RIGHT) * at / self.longest

    def y(self, value):
        return self.top + HEIGHT * (1 - value / self.marks[-1])


def panel(title, lines, top, longest, moments):
    """Draws lines by name; each has points, and None where it has a gap."""
    axes = Axes(top, longest, max(point[1] for points in lines.values() for point in points if point))
    yield text(LEFT, top - 10, title, 'font-weight="bold"')
    for mark in axes.marks:
        yield f'<path d="M{LEFT} {axes.y(mark):.1f}H{WIDTH - RIGHT}" stroke="#d1d9e0"/>'
        yield text(LEFT - 6, axes.y(mark) + 4, f"{mark:,.10g}", 'text-anchor="end"')
    for mark in nice_steps(longest):
        if mark <= longest:
            yield text(axes.x(mark), top + HEIGHT + 16, f"{mark:.10g} s", 'text-anchor="middle"')
    for at in moments:
        yield f'<path d="M{axes.x(at):.1f} {top}v{HEIGHT}" stroke="#57606a" stroke-dasharray="3 3"/>'
    for place, ((name, points), color) in enumerate(zip(lines.items(), MORE_COLORS, strict=False)):
        steps, is_down = [], False
        for point in points:
            if point:
                steps.append(f"{'L' if is_down else 'M'}{axes.x(point[0]):.1f} {axes.y(point[1]):.1f}")
            is_down = point is not None
        yield f'<path d="{"".join(steps)}" fill="none" stroke="{color}" stroke-width="1.5"/>'
        y = top + 8 + 16 * place
        yield f'<path d="M{WIDTH - RIGHT + 10} {y}h18" stroke="{color}" stroke-width="3"/>' + text(WIDTH - RIGHT + 34, y + 4, name)


def write(path, figures):
    rows = figures["rows"]
    longest = rows[-1]["at"]
    names = [name for name in dict.fromkeys(name for row in rows for name in row["memory_mb"]) if name != "test"]

    def memory(some):
        return {name: [(row["at"], row["memory_mb"][name]) if name in row["memory_mb"] else None for row in rows] for name in some}

    panels = [
        ("Notifications a second", {"accepted": [(row["at"], row["per_second"]) for row in rows]}),
        ("Memory of Redis, MB", memory(name for name in names if name.startswith("Redis"))),
        ("Memory of the others, MB", memory(name for name in names if not name.startswith("Redis")))]
    title = f"{rows[-1]['done']:,} devices: throughput and memory over time"
    moments = [figures["started"], *figures["kills"]]
    parts = []
    for place, (name, lines) in enumerate(panels):
        parts += panel(name, lines, TOP + place * (HEIGHT + GAP), longest, moments)
    height = TOP + len(panels) * (HEIGHT + GAP)
    path.write_text("\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="12" fill="#1f2328" role="img" aria-labelledby="title">',
        f'<title id="title">{html.escape(title)}</title><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *parts,
        "</svg>"]) + "\n")
