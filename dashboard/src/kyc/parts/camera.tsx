import { type RefObject, useEffect, useRef, useState } from "react";
import { fill, texts } from "../texts.ts";

const JPEG_QUALITY = 0.92;
const WANTED = { width: { ideal: 1920 }, height: { ideal: 1080 } };

type Photo = { blob: Blob; url: string };

/** Shows the live camera image with an aiming frame, then the photo for confirmation. */
export function Camera(props: {
  title: string;
  is_face: boolean;
  onPhoto: (photo: Blob) => void;
  onClose: () => void;
  /** The camera is not available; the argument is the message for the user. */
  onFault: (message: string) => void;
}) {
  const { title, is_face, onPhoto, onClose, onFault } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const [is_live, setLive] = useState(false);
  const [photo, setPhoto] = useState<Photo | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  useCameraStream(video, is_face, (message) => {
    onClose();
    onFault(message);
  });

  const photo_url = photo?.url;
  useEffect(() => () => void (photo_url && URL.revokeObjectURL(photo_url)), [photo_url]);

  function use() {
    if (photo) onPhoto(photo.blob);
    onClose();
  }

  const guide = is_face ? texts.camera.guide_face : texts.camera.guide_document;
  const status = photo ? texts.camera.check : is_live ? guide : texts.camera.starting;
  return (
    <dialog ref={dialog} className="camera" aria-labelledby="camera-title" onClose={onClose}>
      <h2 id="camera-title">{fill(texts.camera.title, { file: title })}</h2>
      <div className={is_face ? "viewfinder face" : "viewfinder"}>
        <video
          ref={video}
          autoPlay
          playsInline
          muted
          hidden={photo !== null}
          aria-label={texts.camera.live}
          onLoadedData={() => setLive(true)}
        />
        {photo && <img src={photo.url} alt={texts.camera.result} />}
        {!photo && is_live && <span className="aim" aria-hidden="true" />}
      </div>
      <p role="status">{status}</p>
      <CameraButtons
        has_photo={photo !== null}
        is_live={is_live}
        onShoot={() => video.current && takePhoto(video.current, setPhoto)}
        onUse={use}
        onRetake={() => setPhoto(null)}
        onCancel={() => dialog.current?.close()}
      />
    </dialog>
  );
}

/** Connects the camera to the video element until the component is unmounted. */
function useCameraStream(
  video: RefObject<HTMLVideoElement | null>,
  is_face: boolean,
  onFault: (message: string) => void,
): void {
  const report = useRef(onFault);
  report.current = onFault;
  useEffect(() => {
    let stream: MediaStream | null = null;
    let is_unmounted = false;
    const requested = navigator.mediaDevices.getUserMedia({
      video: { ...WANTED, facingMode: is_face ? "user" : "environment" },
    });
    requested.then(
      (granted) => {
        stream = granted;
        if (is_unmounted) return stop(stream);
        if (video.current) video.current.srcObject = granted;
      },
      (error: DOMException) => {
        if (is_unmounted) return;
        const is_refused = error.name === "NotAllowedError" || error.name === "SecurityError";
        report.current(is_refused ? texts.camera.refused : texts.camera.absent);
      },
    );
    return () => {
      is_unmounted = true;
      if (stream) stop(stream);
    };
  }, [video, is_face]);
}

/** The camera's light turns off only when every track is stopped. */
function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function takePhoto(video: HTMLVideoElement, onPhoto: (photo: Photo) => void): void {
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d")?.drawImage(video, 0, 0);
  canvas.toBlob(
    (blob) => blob && onPhoto({ blob, url: URL.createObjectURL(blob) }),
    "image/jpeg",
    JPEG_QUALITY,
  );
}

function CameraButtons(props: {
  has_photo: boolean;
  is_live: boolean;
  onShoot: () => void;
  onUse: () => void;
  onRetake: () => void;
  onCancel: () => void;
}) {
  const { has_photo, is_live, onShoot, onUse, onRetake, onCancel } = props;
  return (
    <div className="buttons">
      {has_photo ? (
        <>
          <button type="button" className="primary" onClick={onUse}>
            {texts.camera.use}
          </button>
          <button type="button" className="plain" onClick={onRetake}>
            {texts.camera.again}
          </button>
        </>
      ) : (
        <button type="button" className="primary" disabled={!is_live} onClick={onShoot}>
          {texts.camera.shoot}
        </button>
      )}
      <button type="button" className="quiet" onClick={onCancel}>
        {texts.camera.cancel}
      </button>
    </div>
  );
}
