export { Lab, type LabHost } from "./lab.ts";
