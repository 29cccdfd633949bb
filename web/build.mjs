// Makes the committed bundle anew: the page itself has no build step.
import { build } from "esbuild";

await build({
  entryPoints: ["vendor.mjs"],
  outfile: "../src/commonplace/doors/http/web/assets/vendor.js",
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "inline",
});
