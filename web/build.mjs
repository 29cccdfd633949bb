// Makes the committed bundles anew, and the list of what is in them: the page's own code has no build step.
// `node build.mjs DIRECTORY` writes them elsewhere.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = process.argv[2] ?? "../src/commonplace/doors/http/web";
const read = (path) => readFileSync(path, "utf8");
const about = (name) => JSON.parse(read(`node_modules/${name}/package.json`));
const packageOf = (path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? [];

const made = await build({
  entryPoints: readdirSync("bundles").sort().map((name) => `bundles/${name}`),
  outdir: `${target}/assets`,
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "inline",
  metafile: true,
});

const files = Object.entries(made.metafile.outputs).map(([path, { inputs }]) => ({
  name: path.split("/").at(-1),
  digest: createHash("sha256").update(readFileSync(path)).digest("hex"),
  packages: new Set(Object.keys(inputs).flatMap(packageOf)),
})).sort((one, other) => (one.name < other.name ? -1 : 1));
const names = [...new Set(files.flatMap(({ packages }) => [...packages]))].sort();
const holders = (name) => files.filter(({ packages }) => packages.has(name)).map((file) => `\`${file.name}\``).join(", ");

writeFileSync(`${target}/VENDOR.md`, `# What the bundles were built from

\`web/build.mjs\` writes this list. esbuild ${about("esbuild").version} made these files:

| file | SHA-256 |
|---|---|
${files.map(({ name, digest }) => `| ${name} | \`${digest}\` |`).join("\n")}

They hold these packages; \`web/package-lock.json\` has their checksums:

| package | version | licence | in |
|---|---|---|---|
${names.map((name) => `| ${name} | ${about(name).version} | ${about(name).license} | ${holders(name)} |`).join("\n")}
`);
