// Node's files, for paths that only the running program knows. Tools that copy what a server needs (Turbopack, @vercel/nft) follow calls of these
// modules. For a path that they cannot foresee they copy every file of the package, or of the project. They do not follow these.
import * as nodeSync from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import * as nodePath from 'node:path';

const unfollowed = <Module>(module: Module): Module => Reflect.get({ module }, 'module') as Module;

export const fsSync = unfollowed(nodeSync);
export const fs = unfollowed(nodeFs);
export const paths = unfollowed(nodePath);
