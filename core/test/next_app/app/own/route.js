export const GET = () => new Response('the host’s own');
