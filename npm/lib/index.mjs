export { TcompactError, check, compact, plan, repair } from "./index.cjs";
