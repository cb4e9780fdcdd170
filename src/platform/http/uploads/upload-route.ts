import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyInstance, FastifyRequest, FastifySchema } from "fastify";
import Type, { type TObject } from "typebox";
import type { Answer, CommandRequest } from "../../commands/executor.ts";
import { sealedSize } from "../../encryption/sealed-stream.ts";
import { type ErrorCode, notFound, Refusal } from "../../errors.ts";
import { isId } from "../../ids.ts";
import { closedObject } from "../../schema-parts.ts";
import { FILE_TURNS } from "../account-turns.ts";
import type { JsonBody } from "../json-body.ts";
import { addRoute, type Caller, type PathParams, type RouteSpec } from "../route.ts";
import { mapParams } from "../route-spec.ts";
import { missingPart } from "./multipart.ts";
import { readUpload } from "./read-upload.ts";

/** What an upload needs to store files; a file store has this type. */
type UploadFiles<FileType extends string> = {
  putTemporary(
    content: AsyncIterable<Buffer>,
    limits: { bytes_max: number; account_id: string },
  ): Promise<{ temporary_key: string }>;
  deleteTemporary(temporary_key: string): Promise<void>;
  /** The type of a file, by its first bytes. */
  judge(head: Buffer): FileType | null;
  scan?: ((content: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>) | undefined;
};

type UploadedFile<FileType extends string> = {
  /** SHA-256 of the file's bytes, in hex. */
  hash: string;
  type: FileType;
  size: number;
  /** The encrypted file, until the handler ends; the handler promotes it. */
  temporary_key: string;
};

type UploadRequest<Path extends string, FileType extends string, Prepared> = {
  caller: Caller;
  params: PathParams<Path>;
  prepared: Prepared;
  file: UploadedFile<FileType>;
  /** Wraps an input as the command of this request, with its Idempotency-Key. */
  command: <Input>(input: Input) => CommandRequest<Input>;
};

type Sealing = { seal: () => Transform };

type UploadSpec<Path extends string, FileType extends string, Prepared extends Sealing> = Pick<
  RouteSpec<Path, TObject, TObject>,
  "path" | "operation" | "summary" | "description" | "tag" | "answer"
> & {
  errors: readonly ErrorCode[];
  bytes_max: number;
  /**
   * Runs before the body is read: finds the record, and with it how to encrypt its file. It must
   * not refuse because of the record's state, which the command checks: a repeated request gets its
   * first answer, whatever happened to the record since.
   */
  prepare: (caller: Caller, params: PathParams<Path>) => Promise<Prepared>;
  handle: (request: UploadRequest<Path, FileType, Prepared>) => Promise<Answer | string>;
};

/** The function that a module adds its upload routes with. */
export type AddUploadRoute<FileType extends string> = <
  const Path extends string,
  Prepared extends Sealing,
>(
  spec: UploadSpec<Path, FileType, Prepared>,
) => void;

const PART = "file";
const MEDIA_TYPE = "multipart/form-data";
const UPLOAD_ERRORS: readonly ErrorCode[] = [
  "file_too_large",
  "unsupported_file_type",
  "file_infected",
];
const UPLOAD_BODY = closedObject({
  [PART]: Type.String({ format: "binary", description: "The file itself." }),
});
/** Stored next to the body's JSON value, where neither schema nor request hash sees it. */
const STORED = Symbol("stored upload");
/** Commands count towards the size of a batch: this one contains the file's hash, not the file. */
const COMMAND_BYTES = 100;

/**
 * Registers a route that accepts one file. It is a route like all others, authenticated, documented
 * and repeatable with an Idempotency-Key. Its body is `{ file: <SHA-256 of the bytes> }` once the
 * file was streamed, encrypted, to a temporary name. The temporary file is deleted when the request
 * ends, unless the handler promoted it.
 */
export function addUploadRoute<
  Path extends string,
  FileType extends string,
  Prepared extends Sealing,
>(
  app: FastifyInstance,
  index_key: Buffer,
  files: UploadFiles<FileType>,
  spec: UploadSpec<Path, FileType, Prepared>,
): void {
  type Stored = { prepared: Prepared; file: UploadedFile<FileType> };
  app.register(async (scope) => {
    // A scope that adds schemas creates its own compilers unless it gets the server's.
    scope.setValidatorCompiler(app.validatorCompiler!);
    scope.setSerializerCompiler(app.serializerCompiler!);
    scope.removeAllContentTypeParsers();
    // The body is not read here: an error in a parser makes Fastify close the connection, and a
    // client that is still sending would never read the reason.
    scope.addContentTypeParser(MEDIA_TYPE, (_request, _payload, done) => done(null));
    scope.addHook("onRoute", ({ schema }) => {
      (schema as FastifySchema & { consumes: string[] }).consumes = [MEDIA_TYPE];
    });
    scope.addHook("preValidation", async (request) => {
      // Other content types were refused before; a request without one has no body.
      if (request.headers["content-type"] === undefined) throw missingPart(PART);
      const stored: Stored = await FILE_TURNS.receive(request.caller!.account_id, () =>
        storeUpload(request, files, spec),
      );
      const value = { [PART]: stored.file.hash, [STORED]: stored };
      request.body = { value, bytes: COMMAND_BYTES, problems: [] } satisfies JsonBody;
    });
    addRoute(scope, index_key, {
      ...spec,
      method: "POST",
      body: UPLOAD_BODY,
      errors: [...UPLOAD_ERRORS, ...spec.errors],
      handle: async ({ caller, params, body, problems, command }) => {
        const stored = (body as { [STORED]?: Stored } | undefined)?.[STORED];
        try {
          if (!stored || problems.length > 0) throw Refusal.of(problems);
          return await spec.handle({ caller, params, ...stored, command });
        } finally {
          // A failure here must not change the answer; leftovers are deleted at the next start.
          if (stored) await files.deleteTemporary(stored.file.temporary_key).catch(() => {});
        }
      },
    });
  });
}

async function storeUpload<Path extends string, FileType extends string, Prepared extends Sealing>(
  request: FastifyRequest,
  files: UploadFiles<FileType>,
  spec: UploadSpec<Path, FileType, Prepared>,
) {
  const prepared = await spec.prepare(request.caller!, checkedParams<Path>(request));
  const rules = { part: PART, bytes_max: spec.bytes_max, judge: files.judge, scan: files.scan };
  const { account_id } = request.caller!;
  const limits = { bytes_max: sealedSize(spec.bytes_max), account_id };
  const { kept, ...file } = await readUpload(request, rules, (content) =>
    pipeline(content, prepared.seal(), (sealed: AsyncIterable<Buffer>) =>
      files.putTemporary(sealed, limits),
    ),
  );
  return { prepared, file: { ...file, temporary_key: kept.temporary_key } };
}

/** Checked here too, not only in the route: avoids searching for an impossible record. */
function checkedParams<Path extends string>(request: FastifyRequest): PathParams<Path> {
  const params = request.params as PathParams<Path>;
  const names = Object.keys(params) as (keyof PathParams<Path>)[];
  const malformed = names.filter((name) => !isId(params[name])).map((name) => notFound(name));
  if (malformed.length > 0) throw Refusal.of(malformed);
  return mapParams(params, (id) => id.toLowerCase());
}
