// Makes the committed bundle anew, and the list of what is in it: the page itself has no build step.
// `node build.mjs DIRECTORY` writes them elsewhere.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = process.argv[2] ?? "../src/commonplace/doors/http/web";
const made = await build({
  entryPoints: ["vendor.mjs"],
  outfile: `${target}/assets/vendor.js`,
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "inline",
  metafile: true,
});

const packages = new Set(
  Object.keys(made.metafile.inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []),
);
const rows = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `| ${name} | ${version} | ${license} |`;
});
const digest = createHash("sha256").update(readFileSync(`${target}/assets/vendor.js`)).digest("hex");
const { version } = JSON.parse(readFileSync("node_modules/esbuild/package.json", "utf8"));
writeFileSync(`${target}/VENDOR.md`, `# What vendor.js was built from

\`web/build.mjs\` writes this list. esbuild ${version} made \`assets/vendor.js\` (SHA-256 \`${digest}\`) of these packages; \`web/package-lock.json\` has their checksums:

| package | version | licence |
|---|---|---|
${rows.join("\n")}
`);
