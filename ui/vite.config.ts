// The page goes into the Python package. No inline script, no data: assets: the content policy allows neither.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** The emoji picker's data, from our own address: by default it would ask another host. */
function emoji(): Plugin {
  return {
    name: "emoji",
    apply: "build",
    generateBundle() {
      for (const name of ["data.json", "messages.json"]) {
        const source = readFileSync(`node_modules/emojibase-data/en/${name}`);
        this.emitFile({ type: "asset", fileName: `assets/emoji/en/${name}`, source });
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), emoji()],
  resolve: { alias: { "@rjsf/validator-ajv8": fileURLToPath(new URL("src/cards/noAjv.ts", import.meta.url)) } },
  build: {
    outDir: "../src/bullpen/web/page",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    target: "es2023",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8420", "/cards": "http://127.0.0.1:8420" } },
});
