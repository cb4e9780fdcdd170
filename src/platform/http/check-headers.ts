import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../errors.ts";

export const VERSION = "2026-11-15";

/** A host name or address, with or without a port; it may be empty. */
const HOST = /^(?:\[[\da-f:.]*\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** What every route requires of the headers that concern the connection. */
export function checkConnection({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  // `headers` has only the first one.
  const is_host = (text: string, at: number) => at % 2 === 0 && /^host$/i.test(text);
  const hosts = rawHeaders.filter(is_host).length;
  const is_old = httpVersion === "1.0" && hosts === 0;
  if (!is_old && !(hosts === 1 && HOST.test(headers.host ?? ""))) {
    const message = "Send exactly one Host header, with the server's name and port.";
    throw new Refusal("bad_request", message);
  }
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
    throw new Refusal("bad_request", "The only Expect header supported is 100-continue.");
  }
}

/** Checks the headers for version, answer format and body, or refuses. */
export function checkHeaders(request: FastifyRequest, reply: FastifyReply): void {
  checkVersion(request);
  checkFormat(request);
  checkEncoding(request, reply);
}

function checkVersion(request: FastifyRequest): void {
  const requested = request.headers["sliproad-version"];
  if (requested !== undefined && requested !== VERSION) {
    throw new Refusal("version_unknown", `This server supports version ${VERSION}.`);
  }
}

/** Compressed bodies are refused: a small one could expand to a large one. */
export function checkEncoding(request: FastifyRequest, reply: FastifyReply): void {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  const has_no_body = request.method === "GET" || request.method === "HEAD";
  if (has_no_body || encoding === "" || encoding === "identity") return;
  reply.header("Accept-Encoding", "identity");
  const message = "Send the body uncompressed, without a Content-Encoding header.";
  throw new Refusal("unsupported_media_type", message);
}

const JSON_FORMAT = /application\/(json|\*)|\*\/\*/i;
function checkFormat(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept === undefined || JSON_FORMAT.test(accept)) return;
  const { file_types = [] } = request.routeOptions.config;
  if (file_types.some((type) => acceptsFile(accept, type))) return;
  throw new Refusal("unknown_format");
}

/** By its own type such as text/csv, by text/*, or as bytes. */
function acceptsFile(accept: string, type: string): boolean {
  const family = `${type.slice(0, type.indexOf("/"))}/*`;
  const ranges = accept.split(",").map((range) => range.split(";", 1)[0]!.trim().toLowerCase());
  return [type, family, "application/octet-stream"].some((range) => ranges.includes(range));
}
