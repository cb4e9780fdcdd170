import { type ChangeEvent, type DragEvent, type RefObject, useId, useRef, useState } from "react";
import { useSession } from "../session.ts";
import type { FileSlotName } from "../state.ts";
import { fill, texts } from "../texts.ts";
import { Camera } from "./camera.tsx";
import { FilePreview } from "./file-preview.tsx";
import { Icon } from "./icons.tsx";
import { Notice } from "./notice.tsx";
import { useUpload } from "./use-upload.ts";

type Props = {
  slot: FileSlotName;
  title: string;
  /** True after the user tried to continue without this file. */
  missing: boolean;
};

/** On a phone, the built-in camera app takes a sharper picture of a document. */
const is_touch = matchMedia("(pointer: coarse)").matches;
const has_live_camera = Boolean(navigator.mediaDevices?.getUserMedia);

/** One photo or file: take, choose or drop it; view, replace or remove it. */
export function FileSlot({ slot, title, missing }: Props) {
  const { state, is_lost } = useSession();
  const { uploaded = null, accepts = [] } = state.files[slot] ?? {};
  const { upload, choose, remove, cancel, retry, refuse } = useUpload(slot, title);
  const [is_camera_open, setCameraOpen] = useState(false);
  const [is_replacing, setReplacing] = useState(false);
  const id = useId();
  const chooser = useRef<HTMLInputElement>(null);
  const phone_camera = useRef<HTMLInputElement>(null);
  const uses_live_camera = has_live_camera && (slot === "selfie" || !is_touch);
  const is_missing = missing && !uploaded && upload.share === null;
  const problem = upload.problem ?? (is_missing ? texts.problems.file_missing : null);
  const section = useRef<HTMLElement>(null);
  /** The button just used is about to be removed: keep the keyboard focus in this section. */
  const keepFocus = () => section.current?.focus();

  const takePhoto = () => (uses_live_camera ? setCameraOpen(true) : phone_camera.current?.click());
  const onFile = (blob: Blob) => {
    keepFocus();
    setReplacing(false);
    void choose(blob);
  };
  const replace = (is_wanted: boolean) => {
    keepFocus();
    setReplacing(is_wanted);
  };
  const removeFile = () => {
    keepFocus();
    void remove();
  };

  return (
    <section ref={section} className="slot" id={`slot-${slot}`} aria-labelledby={id} tabIndex={-1}>
      <h2 id={id}>{title}</h2>
      <DropZone onDrop={onFile} is_filled={Boolean(uploaded)}>
        {upload.share !== null ? (
          <Sending {...{ title, cancel, is_lost }} share={upload.share} url={upload.preview_url} />
        ) : uploaded && !is_replacing ? (
          <>
            <FilePreview slot={slot} title={title} file={uploaded} url={upload.preview_url} />
            <UploadedFileButtons onReplace={() => replace(true)} onRemove={removeFile} />
          </>
        ) : (
          <FileChooser
            slot={slot}
            takes_pdf={accepts.includes("application/pdf")}
            onTakePhoto={uses_live_camera || is_touch ? takePhoto : null}
            onChoose={() => chooser.current?.click()}
            onKeep={uploaded ? () => replace(false) : null}
          />
        )}
      </DropZone>
      <UploadProblem problem={problem} onRetry={upload.can_retry ? retry : null} />
      <FileInputs {...{ slot, accepts, chooser, phone_camera, onFile }} />
      {is_camera_open && (
        <Camera
          title={title}
          is_face={slot === "selfie"}
          onClose={() => setCameraOpen(false)}
          onPhoto={onFile}
          onFault={refuse}
        />
      )}
    </section>
  );
}

function UploadedFileButtons(props: { onReplace: () => void; onRemove: () => void }) {
  return (
    <div className="slot-actions">
      <button type="button" className="plain" onClick={props.onReplace}>
        <Icon name="upload" />
        {texts.files.replace}
      </button>
      <button type="button" className="plain" onClick={props.onRemove}>
        <Icon name="cross" />
        {texts.files.remove}
      </button>
    </div>
  );
}

function FileChooser(props: {
  slot: FileSlotName;
  takes_pdf: boolean;
  /** Null when this device cannot take a photo. */
  onTakePhoto: (() => void) | null;
  onChoose: () => void;
  /** Null when there is no uploaded file to keep. */
  onKeep: (() => void) | null;
}) {
  const { slot, takes_pdf, onTakePhoto, onChoose, onKeep } = props;
  return (
    <>
      <ul className="tips">
        {(texts.files.tips[slot] ?? []).map((tip) => (
          <li key={tip}>{tip}</li>
        ))}
      </ul>
      <div className="slot-actions choose">
        {onTakePhoto && (
          <button type="button" className="plain" onClick={onTakePhoto}>
            <Icon name="camera" />
            {is_touch ? texts.files.take_photo : texts.files.use_camera}
          </button>
        )}
        <button type="button" className="plain" onClick={onChoose}>
          <Icon name="upload" />
          {texts.files.choose}
        </button>
        {onKeep ? (
          <button type="button" className="quiet" onClick={onKeep}>
            {texts.files.keep}
          </button>
        ) : (
          !is_touch && <span className="muted">{texts.files.drop}</span>
        )}
      </div>
      <p className="hint">{takes_pdf ? texts.files.limits : texts.files.limits_photo}</p>
    </>
  );
}

function UploadProblem(props: { problem: string | null; onRetry: (() => void) | null }) {
  const { problem, onRetry } = props;
  return (
    <div role="alert">
      {problem && (
        <Notice kind="alert" icon="alert">
          <p>{problem}</p>
          {onRetry && (
            <button type="button" className="plain" onClick={onRetry}>
              {texts.files.retry}
            </button>
          )}
        </Notice>
      )}
    </div>
  );
}

/** The hidden inputs that open the file dialog and the phone's camera app. */
function FileInputs(props: {
  slot: FileSlotName;
  accepts: readonly string[];
  chooser: RefObject<HTMLInputElement | null>;
  phone_camera: RefObject<HTMLInputElement | null>;
  onFile: (file: Blob) => void;
}) {
  const { slot, accepts, chooser, phone_camera, onFile } = props;
  const onChange = ({ target: input }: ChangeEvent<HTMLInputElement>) => {
    const [file] = input.files ?? [];
    if (file) onFile(file);
    // Cleared, so that choosing the same file again fires the event.
    input.value = "";
  };
  return (
    <>
      <input
        ref={chooser}
        type="file"
        hidden
        data-slot={slot}
        accept={accepts.join(",")}
        onChange={onChange}
      />
      <input
        ref={phone_camera}
        type="file"
        hidden
        accept="image/jpeg,image/png"
        capture={slot === "selfie" ? "user" : "environment"}
        onChange={onChange}
      />
    </>
  );
}

function Sending(props: {
  title: string;
  share: number;
  url: string | null;
  is_lost: boolean;
  cancel: () => void;
}) {
  const { title, share, url, is_lost, cancel } = props;
  const percent = `${Math.round(share * 100)}`;
  return (
    <div className="sending">
      {url && <img src={url} alt={fill(texts.files.preview_of, { file: title })} />}
      <progress
        max={1}
        value={is_lost ? 0 : share}
        aria-label={fill(texts.files.progress_label, { file: title })}
      />
      <div className="slot-actions">
        <span>{is_lost ? texts.files.waiting : fill(texts.files.uploading, { percent })}</span>
        <button type="button" className="plain" onClick={cancel}>
          {texts.files.cancel}
        </button>
      </div>
    </div>
  );
}

function DropZone(props: {
  onDrop: (file: File) => void;
  is_filled: boolean;
  children: React.ReactNode;
}) {
  const { onDrop, is_filled, children } = props;
  const [is_over, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file) onDrop(file);
  };
  const look = is_over ? "drop-zone over" : is_filled ? "drop-zone filled" : "drop-zone";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons work without a mouse.
    <div className={look} onDragOver={over} onDragLeave={() => setOver(false)} onDrop={drop}>
      {children}
    </div>
  );
}
