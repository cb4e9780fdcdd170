// Writes the generated files: npm run generate.
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openApp, openCore } from "../src/app/open-app.ts";
import { readConfig } from "../src/platform/config/config.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded.ts";
import { generatedFiles } from "./generated-files.ts";

const root = join(import.meta.dirname, "..");
const data_dir = await mkdtemp(join(tmpdir(), "sliproad-generate-"));
// Started by root, the server runs as another user, who needs access.
await chmod(data_dir, 0o755);
try {
  const server = await startEmbeddedPostgres({ data_dir });
  try {
    await generate(server.url);
  } finally {
    await server.stop();
  }
} finally {
  await rm(data_dir, { recursive: true, force: true });
}

async function generate(database_url: string): Promise<void> {
  // No environment variables: the output must not depend on who generates it.
  const environment = { SLIPROAD_DATA_DIR: data_dir, SLIPROAD_LOG_LEVEL: "error" };
  const core = await openCore(readConfig(environment), database_url);
  const app = await openApp(core, () => "http://127.0.0.1:4000");
  try {
    await app.server.ready();
    for (const { path, text } of await generatedFiles(core, app.server.swagger())) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
      console.log(path);
    }
  } finally {
    await app.close();
  }
}
