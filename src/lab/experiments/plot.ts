import type { Axis, Point } from "./experiment.ts";

/** Colours that people with any kind of sight can tell apart (Okabe and Ito 2008). */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 80;
const RIGHT = 200;
const TOP = 44;
const BOTTOM = 60;

interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly points: readonly Point[];
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

/**
 * A plot as SVG text: lines over a numeric axis, bars over names; an error bar at each mean that has one. The same points give the same
 * bytes.
 */
export function plotSvg({ title, x, y, points }: Plot): string {
  const series = [...new Set(points.map((p) => p.series))];
  const highest = Math.max(...points.map((p) => p.mean + p.error));
  const lowest = Math.min(...points.filter((p) => p.mean > 0).map((p) => p.mean));
  const isNumeric = points.every((p) => typeof p.x === "number");
  // The smallest bar has to be seen, too.
  const floor = isNumeric ? lowest : lowest / 2;
  const vertical = scaleOf(y.scale, y.scale === "log" ? floor : 0, highest, HEIGHT - BOTTOM, TOP);
  const body = isNumeric
    ? lines(points, series, x, vertical)
    : bars(points, series, vertical, HEIGHT - BOTTOM);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(LEFT, 24, title, `font-size="15" font-weight="bold"`),
    ...vertical.ticks.flatMap((tick) => [
      line(LEFT, vertical.at(tick), WIDTH - RIGHT, vertical.at(tick), "#dddddd"),
      text(LEFT - 8, vertical.at(tick) + 4, label(tick), `text-anchor="end"`),
    ]),
    line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "black"),
    line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "black"),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x.label, `text-anchor="middle"`),
    `<g transform="rotate(-90 20 ${(TOP + HEIGHT - BOTTOM) / 2})">${text(20, (TOP + HEIGHT - BOTTOM) / 2, y.label, `text-anchor="middle"`)}</g>`,
    ...body,
    ...series.flatMap((name, i) => {
      const at = TOP + 10 + i * 22;
      return [
        `<rect x="${WIDTH - RIGHT + 16}" y="${at - 6}" width="16" height="8" fill="${colour(i)}"/>`,
        text(WIDTH - RIGHT + 40, at + 3, name, ""),
      ];
    }),
    "</svg>",
  ].join("\n")}\n`;
}

function lines(
  points: readonly Point[],
  series: readonly string[],
  axis: Axis,
  vertical: Scale,
): readonly string[] {
  const places = points.map((p) => Number(p.x));
  const horizontal = scaleOf(
    axis.scale,
    Math.min(...places),
    Math.max(...places),
    LEFT + 16,
    WIDTH - RIGHT - 16,
  );
  const marks = horizontal.ticks.flatMap((tick) => [
    line(horizontal.at(tick), HEIGHT - BOTTOM, horizontal.at(tick), HEIGHT - BOTTOM + 5, "black"),
    text(horizontal.at(tick), HEIGHT - BOTTOM + 20, label(tick), `text-anchor="middle"`),
  ]);
  const drawn = series.flatMap((name, i) => {
    const own = points.filter((p) => p.series === name).sort((a, b) => Number(a.x) - Number(b.x));
    const at = own.map((p) => [horizontal.at(Number(p.x)), vertical.at(p.mean), p] as const);
    const path = at.map(([px, py]) => `${round(px)},${round(py)}`).join(" ");
    return [
      `<polyline points="${path}" fill="none" stroke="${colour(i)}" stroke-width="2"/>`,
      ...at.flatMap(([px, py, p]) => [
        `<circle cx="${round(px)}" cy="${round(py)}" r="3" fill="${colour(i)}"/>`,
        ...errorBar(px, p, vertical, colour(i)),
      ]),
    ];
  });
  return [...marks, ...drawn];
}

function bars(
  points: readonly Point[],
  series: readonly string[],
  vertical: Scale,
  floor: number,
): readonly string[] {
  const names = [...new Set(points.map((p) => String(p.x)))];
  const slot = (WIDTH - RIGHT - LEFT) / names.length;
  const width = (slot * 0.8) / series.length;
  return names.flatMap((name, n) => [
    text(LEFT + slot * (n + 0.5), floor + 20, name, `text-anchor="middle"`),
    ...series.flatMap((own, i) => {
      const point = points.find((p) => p.series === own && String(p.x) === name);
      if (point === undefined) return [];
      const left = LEFT + slot * (n + 0.1) + width * i;
      const top = vertical.at(point.mean);
      return [
        `<rect x="${round(left)}" y="${round(top)}" width="${round(width)}" height="${round(Math.max(0, floor - top))}" fill="${colour(i)}"/>`,
        ...errorBar(left + width / 2, point, vertical, "black"),
      ];
    }),
  ]);
}

function errorBar(at: number, { mean, error }: Point, vertical: Scale, stroke: string): readonly string[] {
  if (error === 0) return [];
  // A logarithmic axis has no place for what is not above 0.
  const [high, low] = [vertical.at(mean + error), vertical.at(Math.max(mean - error, mean / 100))];
  return [
    line(at, high, at, low, stroke),
    line(at - 4, high, at + 4, high, stroke),
    line(at - 4, low, at + 4, low, stroke),
  ];
}

function scaleOf(kind: Axis["scale"], low: number, high: number, from: number, to: number): Scale {
  if (kind === "log") {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const span = b - a || 1;
    const ticks = decades(low, high);
    return { at: (v) => from + ((Math.log10(v) - a) / span) * (to - from), ticks };
  }
  const step = niceStep((high - low) / 6);
  const first = Math.ceil(low / step - 1e-9);
  const ticks: number[] = [];
  for (let i = first; i * step <= high * (1 + 1e-9); i++) ticks.push(Number((i * step).toPrecision(12)));
  return { at: (v) => from + ((v - low) / (high - low || 1)) * (to - from), ticks };
}

/** 1, 2 and 5 times powers of ten within the bounds; powers of ten alone when these are many. */
function decades(low: number, high: number): readonly number[] {
  const many = Math.log10(high / low) > 2.5;
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const digit of many ? [1] : [1, 2, 5]) {
      const value = Number(`${digit}e${power}`);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
    }
  return found;
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((d) => d * power).find((s) => s >= rough) ?? 10 * power;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}"/>`;
}

function text(x: number, y: number, content: string, style: string): string {
  const safe = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${round(x)}" y="${round(y)}"${style === "" ? "" : ` ${style}`}>${safe}</text>`;
}

function colour(i: number): string {
  return COLOURS[i % COLOURS.length] ?? "black";
}

function label(value: number): string {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
