/** What a text says, or undefined when it is not JSON: whoever asks has a schema that refuses both alike. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
