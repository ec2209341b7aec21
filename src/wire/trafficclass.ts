/** The two ECN bits (RFC 3168, section 5) as importance: what is not ECN-capable may be dropped, the rest is marked instead. */
export const Ecn = { NON_ECT: 0, ECT_1: 1, ECT_0: 2, CE: 3 } as const;

/** Class of all traffic whose DSCP the plan does not name: the weakest. */
export const BEST_EFFORT = 0;

/**
 * Which DSCP means which traffic class; hosts mark by it and switches classify by it. Classes are numbered like queues,
 * 0 the weakest: best effort, then gradients, then control.
 */
export interface TrafficPlan {
  /** Classes, the best-effort one included. */
  readonly classes: number;
  readonly control: { readonly class: number; readonly dscp: number };
  /** Strongest first. */
  readonly gradients: readonly { readonly class: number; readonly dscp: number }[];
}

export interface TrafficPlanOptions {
  /** Classes, 3 to 8; default 8. */
  readonly classes?: number;
  /** The class of control traffic; those between it and best effort are for gradients. Default: the strongest. */
  readonly control?: number;
  /** Other code points than the default ones: for control, and for each gradient class, strongest first. */
  readonly dscp?: { readonly control?: number; readonly gradients?: readonly number[] };
}

/** Class selector 6 (RFC 2474, section 4.2.2.2), as routing protocols have it. */
const CONTROL_DSCP = 48;

/** Class c of gradients by default: code points for local use (RFC 2474, section 6: pool 2, `xxxx11`) with the class on top. */
function gradientDscp(gradientClass: number): number {
  return (gradientClass << 3) | 3;
}

/**
 * The traffic classes of one network; without options the ones that hosts and switches take by default.
 * @throws RangeError for classes or code points that make no sense, with the reason.
 */
export function trafficPlan(options: TrafficPlanOptions = {}): TrafficPlan {
  const classes = options.classes ?? 8;
  if (!Number.isInteger(classes) || classes < 3 || classes > 8)
    throw new RangeError(`classes is ${classes}; it may be 3 to 8`);
  const control = options.control ?? classes - 1;
  if (!Number.isInteger(control) || control < 2 || control >= classes)
    throw new RangeError(
      `control is ${control}; with ${classes} classes it may be 2 to ${classes - 1}, above gradients and best effort`,
    );
  const count = control - 1;
  const given = options.dscp?.gradients;
  if (given !== undefined && given.length !== count)
    throw new RangeError(`dscp.gradients has ${given.length} values for ${count} gradient classes`);
  const gradients = Array.from({ length: count }, (_, rank) => {
    const gradientClass = control - 1 - rank;
    return { class: gradientClass, dscp: given?.[rank] ?? gradientDscp(gradientClass) };
  });
  const plan = {
    classes,
    control: { class: control, dscp: options.dscp?.control ?? CONTROL_DSCP },
    gradients,
  };
  const seen = new Set<number>();
  for (const { dscp } of [plan.control, ...gradients]) {
    if (!Number.isInteger(dscp) || dscp < 1 || dscp > 63)
      throw new RangeError(`dscp ${dscp} is outside 1 to 63 (0 is best effort)`);
    if (seen.has(dscp)) throw new RangeError(`dscp ${dscp} stands for two classes`);
    seen.add(dscp);
  }
  return plan;
}

/** Class of gradients of layer `layer` of `layers`, counted from the front: layer i goes to the floor(i * P / L)-th strongest of P classes, for the next forward pass needs the front first. */
export function classOfLayer(plan: TrafficPlan, layer: number, layers: number): number {
  return entryOfLayer(plan, layer, layers).class;
}

/** DSCP that a host writes on gradients of that layer; arguments as for `classOfLayer`. */
export function dscpOfLayer(plan: TrafficPlan, layer: number, layers: number): number {
  return entryOfLayer(plan, layer, layers).dscp;
}

function entryOfLayer(plan: TrafficPlan, layer: number, layers: number) {
  const entry = plan.gradients[Math.floor((layer * plan.gradients.length) / layers)];
  if (!Number.isInteger(layers) || !Number.isInteger(layer) || layer < 0 || entry === undefined)
    throw new RangeError(`layer ${layer} of ${layers}: layers count from 0 to ${layers - 1}`);
  return entry;
}

/** Class of a packet by its DSCP, as the switch finds it. */
export function classOfDscp(plan: TrafficPlan, dscp: number): number {
  const entry = [plan.control, ...plan.gradients].find((e) => e.dscp === dscp);
  return entry?.class ?? BEST_EFFORT;
}
