// Package kernels runs fabrics whose switches are Linux kernels, in network namespaces, with MRC
// hosts and a controller: packets really cross them. The tests take root, and skip where there is
// none.
package kernels
