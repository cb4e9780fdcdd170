import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../errors.ts";

export const VERSION = "2026-11-15";

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
/** Documents and images, including the generic type that the OpenAPI description uses. */
const FILE_FORMAT = /application\/(pdf|octet-stream)|image\/(jpeg|png|\*)/i;

function checkFormat(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept === undefined || JSON_FORMAT.test(accept)) return;
  if (request.routeOptions.config.is_file && FILE_FORMAT.test(accept)) return;
  throw new Refusal("unknown_format");
}
