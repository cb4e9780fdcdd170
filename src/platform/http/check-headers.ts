import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../errors.ts";

export const VERSION = "2026-11-15";

/** What a request says in its headers about version, answer and body, or a refusal. */
export function checkHeaders(request: FastifyRequest, reply: FastifyReply): void {
  checkVersion(request);
  checkFormat(request);
  checkEncoding(request, reply);
}

function checkVersion(request: FastifyRequest): void {
  const asked = request.headers["sliproad-version"];
  if (asked !== undefined && asked !== VERSION) {
    throw new Refusal("version_unknown", `This server supports version ${VERSION}.`);
  }
}

/** Bodies are read as they come: a small one cannot become a large one here. */
export function checkEncoding(request: FastifyRequest, reply: FastifyReply): void {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return;
  reply.header("Accept-Encoding", "identity");
  const message = "Send the body uncompressed, without a Content-Encoding header.";
  throw new Refusal("unsupported_media_type", message);
}

const JSON_FORMAT = /application\/(json|\*)|\*\/\*/i;
/** Of documents and pictures, also under the name that the OpenAPI description has for all. */
const FILE_FORMAT = /application\/(pdf|octet-stream)|image\/(jpeg|png|\*)/i;

function checkFormat(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept === undefined || JSON_FORMAT.test(accept)) return;
  if (request.routeOptions.config.is_file && FILE_FORMAT.test(accept)) return;
  throw new Refusal("unknown_format");
}
