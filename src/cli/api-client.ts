import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { type Config, readConfig } from "../platform/config/config.ts";
import { readInstance } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";

export type ApiOptions = { url?: string; key?: string };

/** The service as any other program sees it. */
export type ApiClient = {
  url: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
  call(method: string, path: string, body?: unknown): Promise<any>;
};

export function withApiOptions(command: Command): Command {
  return command
    .option("--url <address>", "where the service listens (default: the running one)")
    .option("--key <key>", "an API key (default: SLIPROAD_API_KEY, else the sandbox's own)");
}

/** Finds the running service and the sandbox's key in the data directory. */
export async function openApiClient(options: ApiOptions): Promise<ApiClient> {
  const config = readConfig(process.env);
  const url = (options.url ?? (await findUrl(config))).replace(/\/+$/, "");
  const key = options.key ?? config.api_key ?? (await findKey(config));
  return {
    url,
    call: async (method, path, body) => {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch(() => {
        throw new StartupError(`Nothing answers at ${url}; is the service running?`);
      });
      const answered = (await answer.json().catch(() => null)) as ErrorBody | null;
      if (answer.ok) return answered;
      throw new StartupError(`${method} ${path}: ${whyRefused(answer.status, answered)}`);
    },
  };
}

type ErrorBody = { message?: string; errors?: { field: string; message: string }[] };

function whyRefused(status: number, body: ErrorBody | null): string {
  const fields = body?.errors?.map(({ field, message }) => `${field}: ${message}`) ?? [];
  // The message on top is that of the first field.
  return fields.length > 0 ? fields.join(" ") : (body?.message ?? `answered ${status}.`);
}

async function findUrl(config: Config): Promise<string> {
  const instance = await readInstance(config.data_dir).catch(() => null);
  return instance?.public_url || config.public_url || `http://${config.host}:${config.port}`;
}

async function findKey(config: Config): Promise<string> {
  const file = join(config.data_dir, "sandbox-api-key");
  const text = await readFile(file, "utf8").catch(() => {
    throw new StartupError("No API key was found; give one with --key or SLIPROAD_API_KEY.");
  });
  return text.trim();
}
