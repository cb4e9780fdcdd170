import type { Api } from "../api.ts";

/** A group of methods over the routes of one module. */
export abstract class Resource {
  protected readonly api: Api;

  constructor(api: Api) {
    this.api = api;
  }
}
