export { TcompactError, check, compact, plan, repair, search, show } from "./index.cjs";
