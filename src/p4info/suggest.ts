/** ` (did you mean "x"?)` when one of the candidates is close to the name, else an empty text. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const distance = nearness(name, candidate, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best === undefined ? "" : ` (did you mean "${best}"?)`;
}

/** Edit distance (two letters that changed places count as one edit) without regard to case; a name that is the last part of the other counts as close. */
function nearness(name: string, candidate: string, limit: number): number {
  const a = name.toLowerCase();
  const b = candidate.toLowerCase();
  if (b.endsWith(`.${a}`) || a.endsWith(`.${b}`)) return 0.5;
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : limit;
      next.push(Math.min(substituted, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? limit;
}
