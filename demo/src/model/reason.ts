// Why a model could not be had, in plain words before the library's own.

/** online: whether the browser has a network. */
export function reasonOf({ name, message }: Error, online: boolean): string {
  if (/accept its terms/.test(message)) return 'This model is gated: its authors ask you to agree to their terms first.';
  if (/private, gated and missing/.test(message))
    return 'There is no such model, or it is not public. Check the spelling of its id.';
  if (/\b404\b|found none; looked in/.test(message)) return 'There is no such model. Check the spelling of its id or address.';
  if (!online) return 'You are offline. The bundled model and models you have used before work without a network.';
  if (name === 'NetworkError') return 'This model could not be downloaded.';
  if (name === 'UnsupportedError') return 'This page cannot run this kind of model.';
  return 'This model could not be loaded.';
}
