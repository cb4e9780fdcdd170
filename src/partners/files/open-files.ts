import type { Config } from "../../platform/config/config.ts";
import type { FileStore } from "./file-store.ts";
import { openLocalDirectory } from "./local-directory.ts";
import { openS3 } from "./s3/s3.ts";

export type FilePlace = "directory" | "s3";

/** Where the settings say that files are stored. */
export function placeOfFiles({ s3_bucket }: Config): FilePlace {
  return s3_bucket === undefined ? "directory" : "s3";
}

export function openFiles(config: Config, place = placeOfFiles(config)): Promise<FileStore> {
  const { data_dir, s3_bucket, s3_access_key_id, s3_secret_access_key, s3_region } = config;
  if (place === "directory") return openLocalDirectory(data_dir);
  // The settings are checked together: with the bucket there are both parts of the key.
  return openS3({
    data_dir,
    bucket: s3_bucket!,
    endpoint: config.s3_endpoint ?? `https://s3.${s3_region}.amazonaws.com`,
    region: s3_region,
    access_key_id: s3_access_key_id!,
    secret_access_key: s3_secret_access_key!,
    path_style: config.s3_path_style === "on",
  });
}
