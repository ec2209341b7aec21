/** A part of a layer's parameters: what is sent in one piece, and lives on one server. */
export interface Slice {
  /** Number within the model, the same on all hosts. */
  readonly number: number;
  /** Layer from the front of the model. */
  readonly layer: number;
  /** First parameter of the layer. */
  readonly offset: number;
  readonly count: number;
  /** Server from 0. */
  readonly server: number;
}

/** How a model is cut and who sends what first. */
export interface Discipline {
  /** `slices`: at most `limit` parameters each, servers in turn. `layers`: whole ones, over all servers when larger than `limit`. */
  readonly cut: "slices" | "layers";
  readonly limit: number;
  /** `priority`: front layers first. `fifo`: as they come. */
  readonly order: "priority" | "fifo";
  /** Does the server send new parameters at once, or tell that there are some and wait to be asked? */
  readonly reply: "broadcast" | "pull";
}

/** P3 as published: slices of 50,000 parameters by priority, sent back at once. */
export const P3: Discipline = { cut: "slices", limit: 50_000, order: "priority", reply: "broadcast" };

/** P3 without its order: to see what each part brings. */
export const SLICES_ONLY: Discipline = { ...P3, order: "fifo" };

/** Layer by layer as MXNet's KVStore does: layers of more than a million parameters are split over all servers. */
export const LAYERS: Discipline = { cut: "layers", limit: 1_000_000, order: "fifo", reply: "pull" };

/** Cuts a model. The same arguments give the same slices on every host. */
export function cutModel(
  layers: readonly number[],
  servers: number,
  { cut, limit }: Pick<Discipline, "cut" | "limit">,
): readonly Slice[] {
  const slices: Slice[] = [];
  const add = (layer: number, parts: number, serverOf: (part: number) => number): void => {
    const size = layers[layer] ?? 0;
    for (let part = 0; part < parts; part++) {
      const offset = Math.floor((part * size) / parts);
      const count = Math.floor(((part + 1) * size) / parts) - offset;
      slices.push({ number: slices.length, layer, offset, count, server: serverOf(part) });
    }
  };
  for (const [layer, size] of layers.entries()) {
    if (cut === "slices") {
      const first = slices.length;
      add(layer, Math.max(1, Math.ceil(size / limit)), (part) => (first + part) % servers);
    } else if (size > limit) add(layer, servers, (part) => part);
    // A prime, so that neighbours go to different servers.
    else add(layer, 1, () => (layer * 9973) % servers);
  }
  return slices;
}
