/** One array of parameters, as a parameter server stores it. */
export interface ParameterArray {
  readonly name: string;
  readonly size: number;
  /** Multiplications of one sample's forward pass, in millions: the share of the computing time that goes with it. */
  readonly work: number;
}

/** A model as communication sees it: arrays from the front to the back. */
export interface Model {
  readonly name: string;
  readonly arrays: readonly ParameterArray[];
}

function convolution(
  name: string,
  c: { readonly from: number; readonly to: number; readonly kernel: number; readonly side: number },
): ParameterArray {
  const size = c.kernel * c.kernel * c.from * c.to;
  return { name, size, work: (size * c.side * c.side) / 1e6 };
}

function dense(name: string, from: number, to: number): readonly ParameterArray[] {
  return [
    { name: `${name}.weight`, size: from * to, work: (from * to) / 1e6 },
    { name: `${name}.bias`, size: to, work: 0 },
  ];
}

const normalisation = (name: string, channels: number): readonly ParameterArray[] => [
  { name: `${name}.gamma`, size: channels, work: 0 },
  { name: `${name}.beta`, size: channels, work: 0 },
];

/** ResNet-50 (He et al. 2016, table 1) for 1000 classes: 25.6 million parameters in 161 arrays. */
export function resnet50(): Model {
  const arrays: ParameterArray[] = [];
  const add = (
    name: string,
    c: { readonly from: number; readonly to: number; readonly kernel: number; readonly side: number },
  ): void => {
    arrays.push(convolution(`${name}.weight`, c), ...normalisation(`${name}.norm`, c.to));
  };
  add("stem", { from: 3, to: 64, kernel: 7, side: 112 });
  let from = 64;
  for (const [stage, { blocks, width, side }] of [
    { blocks: 3, width: 64, side: 56 },
    { blocks: 4, width: 128, side: 28 },
    { blocks: 6, width: 256, side: 14 },
    { blocks: 3, width: 512, side: 7 },
  ].entries())
    for (let block = 0; block < blocks; block++) {
      const name = `stage${stage + 1}.${block}`;
      add(`${name}.reduce`, { from, to: width, kernel: 1, side });
      add(`${name}.spatial`, { from: width, to: width, kernel: 3, side });
      add(`${name}.expand`, { from: width, to: 4 * width, kernel: 1, side });
      if (block === 0) add(`${name}.shortcut`, { from, to: 4 * width, kernel: 1, side });
      from = 4 * width;
    }
  arrays.push(...dense("classifier", 2048, 1000));
  return { name: "ResNet-50", arrays };
}

/** VGG-19 (Simonyan and Zisserman 2015, configuration E): 143.7 million parameters, 71.5 % of them in one array. */
export function vgg19(): Model {
  const arrays: ParameterArray[] = [];
  let from = 3;
  for (const [stage, { layers, to, side }] of [
    { layers: 2, to: 64, side: 224 },
    { layers: 2, to: 128, side: 112 },
    { layers: 4, to: 256, side: 56 },
    { layers: 4, to: 512, side: 28 },
    { layers: 4, to: 512, side: 14 },
  ].entries())
    for (let layer = 0; layer < layers; layer++) {
      const name = `conv${stage + 1}.${layer + 1}`;
      arrays.push(convolution(`${name}.weight`, { from, to, kernel: 3, side }));
      arrays.push({ name: `${name}.bias`, size: to, work: 0 });
      from = to;
    }
  arrays.push(...dense("full6", 25_088, 4096), ...dense("full7", 4096, 4096), ...dense("full8", 4096, 1000));
  return { name: "VGG-19", arrays };
}

/**
 * Sockeye's recurrent translation model as P3's authors train it (their script for IWSLT 2015, English to Vietnamese: vocabularies of 17,191 and 7,709 words,
 * two LSTM layers of 512 each side, the encoder's first one in both directions, embeddings and attention of 512). Work per word, the output layer
 * included; looking up an embedding is no work.
 */
export function sockeye(): Model {
  const [source, target, width] = [17_191, 7_709, 512];
  const recurrent = (name: string, input: number, hidden: number): readonly ParameterArray[] => {
    const parts = [["input", 4 * hidden * input] as const, ["state", 4 * hidden * hidden] as const];
    return parts.flatMap(([part, size]) => [
      { name: `${name}.${part}.weight`, size, work: size / 1e6 },
      { name: `${name}.${part}.bias`, size: 4 * hidden, work: 0 },
    ]);
  };
  return {
    name: "Sockeye",
    arrays: [
      { name: "source.embedding", size: source * width, work: 0 },
      ...recurrent("encoder.1.forward", width, width / 2),
      ...recurrent("encoder.1.backward", width, width / 2),
      ...recurrent("encoder.2", width, width),
      ...[1, 2].flatMap((layer) =>
        ["state", "cell"].flatMap((part) => dense(`decoder.${layer}.first.${part}`, width, width)),
      ),
      { name: "target.embedding", size: target * width, work: 0 },
      ...recurrent("decoder.1", 2 * width, width),
      ...recurrent("decoder.2", width, width),
      ...dense("attention.source", width, width),
      ...dense("attention.query", width, width),
      ...dense("attention.score", width, 1),
      ...dense("hidden", 2 * width, width),
      ...dense("output", width, target),
    ],
  };
}

export function parameters({ arrays }: Model): number {
  return arrays.reduce((sum, { size }) => sum + size, 0);
}

/** The same model with all sizes divided, rounded up; where rates are divided alike, all times stay what they are. */
export function scaledDown(model: Model, by: number): Model {
  return { ...model, arrays: model.arrays.map((a) => ({ ...a, size: Math.max(1, Math.ceil(a.size / by)) })) };
}
