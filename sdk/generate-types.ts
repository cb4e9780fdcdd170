import openapiTypescript, { astToString, COMMENT_HEADER } from "openapi-typescript";

/** The types of every route, as `openapi-typescript openapi.json` prints them. */
export async function generateTypes(openapi: object): Promise<string> {
  const syntax = await openapiTypescript(JSON.stringify(openapi), { silent: true });
  return `${COMMENT_HEADER}${astToString(syntax)}`;
}
