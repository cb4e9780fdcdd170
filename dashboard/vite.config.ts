import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/**
 * The page that people prove their identity on. It is served under a strict policy: no script and
 * no style may stand in the document, and nothing comes from another host.
 */
export default defineConfig({
  root: `${import.meta.dirname}/src/kyc`,
  base: "/assets/kyc/",
  plugins: [react()],
  build: {
    // scripts/build-pages.mjs names another one, so that no half-written page is ever served.
    outDir: `${import.meta.dirname}/dist/kyc`,
    emptyOutDir: true,
    assetsDir: ".",
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    target: ["chrome100", "safari15.4", "firefox100"],
  },
});
