/** A drawing as the address of a picture, which is the only way that the page's policy lets it in. */
export const toPicture = (svg: string): string =>
  `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`
