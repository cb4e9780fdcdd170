/** One request and its response, as sent and received. */
export type ApiExchange = {
  method: string;
  path: string;
  request: unknown;
  status: number;
  answer: unknown;
};

type Recorder = {
  fetch: typeof globalThis.fetch;
  /** The exchanges since the last call. */
  take(): ApiExchange[];
};

const SECRETS = /secret$/;
const UUID = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})\b/g;
const HEX = /\b(0x)?([0-9a-f]{8})[0-9a-f]{16,}([0-9a-f]{4})\b/g;
const VALUE_CHARACTERS_MAX = 60;
const LINE_CHARACTERS_MAX = 150;

/** A fetch that records its requests and responses, without keys and secrets. */
export function recordExchanges(base_url: string): Recorder {
  let exchanges: ApiExchange[] = [];
  return {
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      const path = String(input).slice(base_url.length);
      const text = await answer.clone().text();
      exchanges.push({
        method: init?.method ?? "GET",
        path,
        request: describeBody(init?.body),
        status: answer.status,
        answer: withoutSecrets(readJson(text)),
      });
      return answer;
    },
    take: () => {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
  };
}

function describeBody(body: unknown): unknown {
  if (typeof body === "string") return withoutSecrets(readJson(body));
  return body === undefined || body === null ? null : "(a file)";
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRETS.test(name) || name === "webhook_secret_standard" ? "…" : withoutSecrets(inner),
    ]),
  );
}

/** Shortens ids and hashes to their first and last characters. */
export function shortenIds(text: string): string {
  return text.replace(UUID, "$1…$2").replace(HEX, "$1$2…$3");
}

/** A body as one line that fits a terminal: short ids, no empty values, truncated. */
export function describeShortly(value: unknown): string {
  const text = writeValue(value);
  const characters = [...text];
  if (characters.length <= LINE_CHARACTERS_MAX) return text;
  return `${characters.slice(0, LINE_CHARACTERS_MAX - 1).join("")}…`;
}

function writeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeValue).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value).filter(([, inner]) => inner !== null);
    return `{ ${fields.map(([name, inner]) => `${name}: ${writeValue(inner)}`).join(", ")} }`;
  }
  const text = shortenIds(String(value));
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}
