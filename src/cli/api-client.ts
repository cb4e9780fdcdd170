import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { readConfig } from "../platform/config/config.ts";
import { readDeadService, readInstance } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";

export type ApiOptions = { url?: string; key?: string };

/** The service as any other program sees it. */
export type ApiClient = {
  url: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
  call(method: string, path: string, body?: unknown): Promise<any>;
};

/** A call that was not answered as hoped. */
export class ApiError extends StartupError {
  readonly code: string;
  /** When to ask again; null where the same answer would come. */
  readonly retry_after_ms: number | null;

  constructor(message: string, code: string, retry_after_ms: number | null = null) {
    super(message);
    this.code = code;
    this.retry_after_ms = retry_after_ms;
  }
}

/** Nothing answered, which may pass. */
export class UnreachableError extends ApiError {}

const RETRY_AFTER_STANDARD_MS = 1_000;
const RETRY_AFTER_MAX_MS = 60_000;

export function withApiOptions(command: Command): Command {
  return command
    .option("--url <address>", "where the service listens (default: the running one)")
    .option("--key <key>", "an API key (default: SLIPROAD_API_KEY, else the sandbox's own)");
}

export async function openApiClient(options: ApiOptions): Promise<ApiClient> {
  const url = await findServiceUrl(options);
  const key = await findApiKey(options);
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
        throw new UnreachableError(
          `Nothing answers at ${url}; start the service with sliproad start, or say where it is ` +
            "with --url.",
          "unreachable",
        );
      });
      const answered = (await answer.json().catch(() => null)) as ErrorBody | null;
      if (answer.ok) return answered;
      throw new ApiError(
        `${method} ${path}: ${whyRefused(answer.status, answered)}`,
        answered?.error_code ?? "refused",
        retryAfter(answer),
      );
    },
  };
}

type ErrorBody = {
  error_code?: string;
  message?: string;
  errors?: { field: string; message: string }[];
};

function retryAfter({ status, headers }: Response): number | null {
  if (status !== 429 && status !== 503) return null;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (!(seconds >= 0)) return RETRY_AFTER_STANDARD_MS;
  return Math.min(Math.max(seconds * 1_000, RETRY_AFTER_STANDARD_MS), RETRY_AFTER_MAX_MS);
}

function whyRefused(status: number, body: ErrorBody | null): string {
  const fields = body?.errors?.map(({ field, message }) => `${field}: ${message}`) ?? [];
  // The message on top is that of the first field.
  return fields.length > 0 ? fields.join(" ") : (body?.message ?? `answered ${status}.`);
}

/** As asked for, else where the service of this data directory runs, last ran or would run. */
export async function findServiceUrl(options: ApiOptions): Promise<string> {
  const config = readConfig(process.env);
  if (options.url !== undefined && !/^https?:$/.test(URL.parse(options.url)?.protocol ?? "")) {
    throw new StartupError("--url must be an address such as http://127.0.0.1:4000.");
  }
  const instance =
    (await readInstance(config.data_dir).catch(() => null)) ??
    (await readDeadService(config.data_dir));
  const standard = config.public_url || `http://${config.host}:${config.port}`;
  return (options.url ?? (instance?.public_url || standard)).replace(/\/+$/, "");
}

export async function findApiKey(options: ApiOptions): Promise<string> {
  const config = readConfig(process.env);
  const given = options.key ?? config.api_key;
  if (given !== undefined) return given;
  const file = join(config.data_dir, "sandbox-api-key");
  const text = await readFile(file, "utf8").catch(() => {
    throw new StartupError(
      `No API key was found in ${config.data_dir}; start the service there with sliproad start, ` +
        "or give a key with --key or SLIPROAD_API_KEY.",
    );
  });
  return text.trim();
}
