// Runs every row of a folder through a graph in onnxruntime-web: node bench/onnx.mjs GRAPH FOLDER
//
// FOLDER/inputs.json has name, type and file of each input, of one column; scores are written beside it as 32-bit
// numbers, decisions as JSON.
import fs from "node:fs";
import { createRequire } from "node:module";

const ort = createRequire(`${process.cwd()}/`)("onnxruntime-web");
const [graph, folder] = process.argv.slice(2);
const arrays = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array };
const read = ({ name, type, file }) => {
  const bytes = fs.readFileSync(`${folder}/${file}`);
  const values = type === "string" ? JSON.parse(bytes) : new arrays[type](new Uint8Array(bytes).buffer);
  return { name, type, values };
};
const inputs = JSON.parse(fs.readFileSync(`${folder}/inputs.json`)).map(read);
const rows = inputs[0].values.length;
const session = await ort.InferenceSession.create(graph);
const [scores, decisions] = [[], []];
for (let start = 0; start < rows; start += 4096) {
  const end = Math.min(rows, start + 4096);
  const tensor = ({ name, type, values }) => [name, new ort.Tensor(type, values.slice(start, end), [end - start, 1])];
  const given = await session.run(Object.fromEntries(inputs.map(tensor)));
  scores.push(Buffer.from(Float32Array.from(given.score.data).buffer));
  for (const one of given.decision.data) decisions.push(typeof one === "bigint" ? Number(one) : one);
}
fs.writeFileSync(`${folder}/scores`, Buffer.concat(scores));
fs.writeFileSync(`${folder}/decisions.json`, JSON.stringify(decisions));
