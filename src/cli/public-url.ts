import type { Core } from "../app/open-core.ts";
import { readInstance } from "../platform/instance.ts";

/** The running service's public URL: URLs in events begin with it. */
export async function findPublicUrl(config: Core["config"]): Promise<string> {
  const instance = await readInstance(config.data_dir).catch(() => null);
  const standard = config.public_url || `http://${config.host}:${config.port}`;
  return instance?.public_url || standard;
}
